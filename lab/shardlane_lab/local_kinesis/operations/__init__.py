"""The operations of the API, one file a subject: each takes a ``Call`` and returns the answer as
boto3 shows it, or raises ``ServiceError``."""
