"""The Python backend: pydantic models and an httpx client."""
