// lifion-kinesis' fan-out rewrites the host of its endpoint to the service's name (and keeps scheme
// and port): resolve that name to this machine. Loaded with `node -r`.
const dns = require("node:dns");

const { lookup } = dns;
dns.lookup = (host, options, callback) => {
  const here = /^kinesis\.[a-z0-9-]+\.amazonaws\.com$/.test(host) ? "127.0.0.1" : host;
  return lookup(here, options, callback);
};
