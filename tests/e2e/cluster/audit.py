"""The API server's audit log: who asked for what, and what came of it."""

import json

from lab import command

# The role of upstream v0.28.9, as verbs and resources.
ALLOWED = {("get", "pods"), ("get", "nodes"), ("list", "nodes"), ("watch", "nodes"), ("patch", "nodes/status")}


class Audit:
    """Entries since it was made."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.start = file.seek(0, 2)

    def entries(self, of=None):
        """Complete lines so far, as values; those of a node by its address."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            lines = file.read().split(b"\n")[:-1]
        rows = [json.loads(line) for line in lines]
        return [row for row in rows if of is None or of.address in row["sourceIPs"]]

    def asked(self, of):
        """{(verb, resource)} of a node, a sub-resource behind a slash."""
        return {(row["verb"], resource(row)) for row in self.entries(of)}


def resource(row):
    what = row.get("objectRef", {})
    return what.get("resource", row["requestURI"]) + ("/" + what["subresource"] if "subresource" in what else "")


def code(row):
    return row.get("responseStatus", {}).get("code")


def expect_modest(audit, of, refusals=0):
    """`of` asked for nothing outside the role, and was refused no oftener than the test means it to be."""
    beyond = audit.asked(of) - ALLOWED
    command.expect(not beyond, f"{of.name} asked for what its role does not allow: {sorted(beyond)}")
    refused = [row["requestURI"] for row in audit.entries(of) if code(row) in (401, 403)]
    command.expect(len(refused) <= refusals, f"{of.name} was refused {len(refused)} times: {refused[:3]}")
