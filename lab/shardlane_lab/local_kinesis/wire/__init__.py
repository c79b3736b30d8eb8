"""How the local Kinesis speaks: bodies, event-stream frames, HTTP/1.1 and HTTP/2."""
