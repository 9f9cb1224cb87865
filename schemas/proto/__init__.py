"""Protobuf messages as pydantic models: proto3 JSON, field masks, JSON Schemas."""
