"""What is stuck: `answer` asks, `text` and `document` say it."""
