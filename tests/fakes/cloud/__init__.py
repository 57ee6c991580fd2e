"""The cloud over its two protocols, asked with boto3."""
