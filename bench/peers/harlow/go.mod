module shardlane/bench/peers/harlow

go 1.24

require (
	github.com/aws/aws-sdk-go-v2 v1.11.2
	github.com/aws/aws-sdk-go-v2/config v1.6.1
	github.com/aws/aws-sdk-go-v2/service/kinesis v1.6.0
	github.com/harlow/kinesis-consumer v0.3.6
)

require (
	github.com/aws/aws-sdk-go-v2/credentials v1.3.3 // indirect
	github.com/aws/aws-sdk-go-v2/feature/ec2/imds v1.4.1 // indirect
	github.com/aws/aws-sdk-go-v2/internal/ini v1.2.1 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/presigned-url v1.2.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/sso v1.3.3 // indirect
	github.com/aws/aws-sdk-go-v2/service/sts v1.6.2 // indirect
	github.com/aws/smithy-go v1.9.0 // indirect
	github.com/awslabs/kinesis-aggregation/go v0.0.0-20210630091500-54e17340d32f // indirect
	github.com/golang/protobuf v1.5.2 // indirect
	github.com/jmespath/go-jmespath v0.4.0 // indirect
	google.golang.org/protobuf v1.28.0 // indirect
)
