"""One session replayed: what each request would have been under a policy, and which facts it would have missed."""
