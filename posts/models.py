"""The rows of posts: topics, posts, replies, and reports about them."""

from posts.post import Post, Reply, Topic
from posts.report import Report

__all__ = ["Post", "Reply", "Report", "Topic"]
