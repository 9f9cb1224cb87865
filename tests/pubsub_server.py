"""A server that speaks Pub/Sub's gRPC, for tests.

Usage: python tests/pubsub_server.py

It prints one line, its port, and serves on the loopback until it is terminated; its clients find it by
PUBSUB_EMULATOR_HOST. What is not acknowledged in its deadline is delivered again; the signal SIGUSR1 ends all
deadlines at once. Names that contain `forbidden` are refused with PERMISSION_DENIED.
"""

import signal
import threading
import time
from concurrent import futures
from datetime import UTC, datetime

import grpc
from google.protobuf import empty_pb2
from google.pubsub_v1 import types

PUBLISHER = "google.pubsub.v1.Publisher"
SUBSCRIBER = "google.pubsub.v1.Subscriber"


class Waiting:
    """A message of a subscription."""

    def __init__(self, message):
        self.message = message
        self.deadline = 0.0
        self.ack_id = ""
        self.attempts = 0


class Server:
    def __init__(self):
        self.changed = threading.Condition()
        self.topics = {}
        self.subscriptions = {}
        self.waiting = {}
        self.last_id = 0

    def checked(self, name, known, context):
        if "forbidden" in name:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "User not authorized to perform this action.")
        if name not in known:
            context.abort(grpc.StatusCode.NOT_FOUND, f"Resource not found (resource={name}).")
        return known[name]

    def create_topic(self, request, context):
        if request.name in self.topics:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "Resource already exists in the project.")
        self.topics[request.name] = request
        return request

    def get_topic(self, request, context):
        return self.checked(request.topic, self.topics, context)

    def delete_topic(self, request, context):
        self.checked(request.topic, self.topics, context)
        del self.topics[request.topic]
        return empty_pb2.Empty()

    def publish(self, request, context):
        self.checked(request.topic, self.topics, context)
        ids = []
        with self.changed:
            for message in request.messages:
                self.last_id += 1
                message.message_id = str(self.last_id)
                message.publish_time = datetime.now(UTC)
                ids.append(message.message_id)
                for name, subscription in self.subscriptions.items():
                    if subscription.topic == request.topic:
                        self.waiting[name][message.message_id] = Waiting(message)
            self.changed.notify_all()
        return types.PublishResponse(message_ids=ids)

    def create_subscription(self, request, context):
        self.checked(request.topic, self.topics, context)
        if request.name in self.subscriptions:
            context.abort(grpc.StatusCode.ALREADY_EXISTS, "Resource already exists in the project.")
        self.subscriptions[request.name] = request
        self.waiting[request.name] = {}
        return request

    def get_subscription(self, request, context):
        return self.checked(request.subscription, self.subscriptions, context)

    def list_subscriptions(self, request, context):
        return types.ListSubscriptionsResponse(subscriptions=list(self.subscriptions.values()))

    def delete_subscription(self, request, context):
        with self.changed:
            self.checked(request.subscription, self.subscriptions, context)
            del self.subscriptions[request.subscription], self.waiting[request.subscription]
            self.changed.notify_all()
        return empty_pb2.Empty()

    def lease(self, name, most, seconds):
        """Returns messages that nobody has on lease; needs the lock."""
        found, now = [], time.monotonic()
        for one in self.waiting.get(name, {}).values():
            if one.deadline <= now and len(found) < most:
                one.deadline = now + seconds
                one.attempts += 1
                one.ack_id = f"{one.message.message_id}:{one.attempts}"
                found.append(types.ReceivedMessage(ack_id=one.ack_id, message=one.message))
        return found

    def pull(self, request, context):
        subscription = self.checked(request.subscription, self.subscriptions, context)
        with self.changed:
            seconds = subscription.ack_deadline_seconds or 10
            return types.PullResponse(
                received_messages=self.lease(request.subscription, request.max_messages, seconds)
            )

    def forget(self, name, ack_ids):
        for ack_id in ack_ids:
            message_id = ack_id.split(":")[0]
            one = self.waiting.get(name, {}).get(message_id)
            if one and one.ack_id == ack_id:
                del self.waiting[name][message_id]

    def extend(self, name, ack_ids, seconds):
        for ack_id in ack_ids:
            one = self.waiting.get(name, {}).get(ack_id.split(":")[0])
            if one and one.ack_id == ack_id:
                one.deadline = time.monotonic() + seconds

    def acknowledge(self, request, context):
        with self.changed:
            self.forget(request.subscription, request.ack_ids)
        return empty_pb2.Empty()

    def modify_ack_deadline(self, request, context):
        with self.changed:
            self.extend(request.subscription, request.ack_ids, request.ack_deadline_seconds)
            self.changed.notify_all()
        return empty_pb2.Empty()

    def streaming_pull(self, requests, context):
        first = next(requests)
        name = first.subscription
        self.checked(name, self.subscriptions, context)
        seconds = first.stream_ack_deadline_seconds or 10
        threading.Thread(target=self.listen, args=(name, requests), daemon=True).start()
        while context.is_active():
            with self.changed:
                messages = self.lease(name, 100, seconds)
                if not messages:
                    self.changed.wait(0.05)
            if name not in self.subscriptions:
                context.abort(grpc.StatusCode.NOT_FOUND, f"Resource not found (resource={name}).")
            if messages:
                yield types.StreamingPullResponse(received_messages=messages)

    def listen(self, name, requests):
        try:
            for request in requests:
                with self.changed:
                    self.forget(name, request.ack_ids)
                    pairs = zip(request.modify_deadline_ack_ids, request.modify_deadline_seconds, strict=True)
                    for ack_id, seconds in pairs:
                        self.extend(name, [ack_id], seconds)
        except grpc.RpcError:
            return

    def end_deadlines(self, *_):
        """Ends all deadlines; the streams look again within 50 ms."""
        for waiting in list(self.waiting.values()):
            for one in list(waiting.values()):
                one.deadline = 0.0


def method(function, request, response=None):
    def serialize(message):
        return message.SerializeToString() if response is None else response.serialize(message)

    return grpc.unary_unary_rpc_method_handler(function, request.deserialize, serialize)


def handlers(server):
    yield grpc.method_handlers_generic_handler(
        PUBLISHER,
        {
            "CreateTopic": method(server.create_topic, types.Topic, types.Topic),
            "GetTopic": method(server.get_topic, types.GetTopicRequest, types.Topic),
            "DeleteTopic": method(server.delete_topic, types.DeleteTopicRequest),
            "Publish": method(server.publish, types.PublishRequest, types.PublishResponse),
        },
    )
    subscription, pulled = types.Subscription, types.StreamingPullResponse
    yield grpc.method_handlers_generic_handler(
        SUBSCRIBER,
        {
            "CreateSubscription": method(server.create_subscription, subscription, subscription),
            "GetSubscription": method(server.get_subscription, types.GetSubscriptionRequest, subscription),
            "ListSubscriptions": method(
                server.list_subscriptions, types.ListSubscriptionsRequest, types.ListSubscriptionsResponse
            ),
            "DeleteSubscription": method(server.delete_subscription, types.DeleteSubscriptionRequest),
            "Pull": method(server.pull, types.PullRequest, types.PullResponse),
            "Acknowledge": method(server.acknowledge, types.AcknowledgeRequest),
            "ModifyAckDeadline": method(server.modify_ack_deadline, types.ModifyAckDeadlineRequest),
            "StreamingPull": grpc.stream_stream_rpc_method_handler(
                server.streaming_pull, types.StreamingPullRequest.deserialize, pulled.serialize
            ),
        },
    )


def main():
    server = Server()
    signal.signal(signal.SIGUSR1, server.end_deadlines)
    grpc_server = grpc.server(futures.ThreadPoolExecutor(32))
    grpc_server.add_generic_rpc_handlers(tuple(handlers(server)))
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    grpc_server.start()
    print(port, flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
