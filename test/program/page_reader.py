"""Reads a run's page as a browser does: its files, its events, its metrics."""

import http.client
import json
import re
import ssl
import urllib.parse


def url_of(text):
    """Where the page is, by what the program printed."""
    return re.search(r"https?://\S+/", text)[0]


def connection_to(url, context=None):
    place = urllib.parse.urlsplit(url)
    if place.scheme == "https":
        return http.client.HTTPSConnection(place.netloc, timeout=60, context=context)
    return http.client.HTTPConnection(place.netloc, timeout=60)


def get(url, path="/", method="GET", headers=None, body=None, context=None):
    """Returns the status, the headers and the body of one request."""
    connection = connection_to(url, context)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def unverified():
    """A TLS context that takes any certificate: the job's own authority is none that it knows."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Events:
    """The frames of /events, one after another."""

    def __init__(self, url, headers=None, context=None):
        self.connection = connection_to(url, context)
        self.connection.request("GET", "/events", headers=headers or {})
        self.answer = self.connection.getresponse()
        self.status = self.answer.status
        self.news = []  # From all frames that were read.

    def next(self):
        """The next frame; nothing at the end."""
        while True:
            line = self.answer.readline()
            if not line:
                return None
            if line.startswith(b"data: "):
                frame = json.loads(line[6:])
                self.news += frame["news"]
                return frame

    def until(self, condition, what):
        """Reads frames until `condition(frame)` holds, and returns that frame."""
        while True:
            frame = self.next()
            if frame is None:
                raise AssertionError(f"the events ended before {what}")
            if condition(frame):
                return frame

    def close(self):
        self.connection.close()


def metrics_of(text):
    """{name with labels: value} of a text for Prometheus."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found
