"""The AWS services beside Kinesis and Lambda, from moto, behind one lock."""
