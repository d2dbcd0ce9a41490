"""The API server's audit log: the requests of each user, and their results."""

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

    def entries(self, of):
        """Requests of a node's flanneld so far, in their order; other programs there are administrators. A watch has an entry at its
        start, which the one at its end replaces. `flannelctl cni` tries whether it may read a Service, and does not count."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            lines = file.read().split(b"\n")[:-1]
        rows = [json.loads(line) for line in lines]
        return list({row["auditID"]: row for row in rows if of.address in row["sourceIPs"]
                     and "system:masters" not in row["user"].get("groups", []) and resource(row) != "services"}.values())

    def requested(self, of):
        """{(verb, resource)} of a node, a sub-resource behind a slash."""
        return {(row["verb"], resource(row)) for row in self.entries(of)}


def resource(row):
    what = row.get("objectRef", {})
    return what.get("resource", row["requestURI"]) + ("/" + what["subresource"] if "subresource" in what else "")


def code(row):
    return row.get("responseStatus", {}).get("code")


def expect_modest(audit, of, refusals):
    """`of` requested nothing outside the role and, unless `refusals` are expected, was refused nothing."""
    beyond = audit.requested(of) - ALLOWED
    command.expect(not beyond, f"{of.name} requested what its role does not allow: {sorted(beyond)}")
    refused = [row["requestURI"] for row in audit.entries(of) if code(row) in (401, 403)]
    command.expect(refusals or not refused, f"{of.name} was refused {len(refused)} times: {refused[:3]}")
