// Reads a stream with harlow/kinesis-consumer until it has seen so many records.
//
// Arguments: KINESIS DYNAMODB STREAM COUNT MODE APPLICATION; it polls, keeps its checkpoints in
// memory, and looks for new shards every 30 s.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	consumer "github.com/harlow/kinesis-consumer"
	memory "github.com/harlow/kinesis-consumer/store/memory"
)

// seen prints each record and ends the scan when it knows enough different ones.
type seen struct {
	mu     sync.Mutex
	out    *bufio.Writer
	known  map[string]struct{}
	count  int
	finish context.CancelFunc
}

func (s *seen) record(record *consumer.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	number := aws.ToString(record.SequenceNumber)
	fmt.Fprintf(s.out, "%s %s\n", number, aws.ToString(record.PartitionKey))
	s.known[number] = struct{}{}
	if len(s.known) >= s.count {
		s.finish()
	}
	return nil
}

func (s *seen) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.Flush()
}

func (s *seen) flushNowAndThen(ctx context.Context) {
	for ticker := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
		s.flush()
	}
}

func main() {
	endpoint, stream := os.Args[1], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	if err != nil {
		log.Fatalf("COUNT: %v", err)
	}
	ctx, finish := context.WithCancel(context.Background())
	defer finish()
	settings, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	client := kinesis.NewFromConfig(settings, func(options *kinesis.Options) {
		options.EndpointResolver = kinesis.EndpointResolverFromURL(endpoint)
	})
	reader, err := consumer.New(
		stream,
		consumer.WithClient(client),
		consumer.WithStore(memory.New()),
		consumer.WithShardIteratorType("TRIM_HORIZON"),
	)
	if err != nil {
		log.Fatal(err)
	}
	s := &seen{out: bufio.NewWriterSize(os.Stdout, 1<<20), known: map[string]struct{}{}, count: count, finish: finish}
	go s.flushNowAndThen(ctx)
	err = reader.Scan(ctx, s.record)
	s.flush()
	if err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}
