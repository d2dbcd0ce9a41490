"""A bill of materials, SPDX 2.3 in JSON: each artifact with its checksum, and the components that are linked into it."""

import hashlib
import json
import re
import time


def _id(prefix, text):
    return f"SPDXRef-{prefix}-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def document(version, epoch, commit, artifacts):
    """`artifacts`: [(file name, bytes, components)]."""
    packages, relations, licences, known = [], [], {}, {}
    for name, data, components in artifacts:
        artifact = _id("Artifact", name)
        packages.append({
            "SPDXID": artifact, "name": "weft", "versionInfo": version, "packageFileName": name, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "Apache-2.0", "copyrightText": "NOASSERTION",
            "supplier": "Organization: the weft authors", "sourceInfo": f"git commit {commit}", "primaryPackagePurpose": "INSTALL",
            "checksums": [{"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}]})
        relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": artifact})
        for each in components:
            component = _id("Component", f"{each.name}-{each.version}")
            if component not in known:
                known[component] = each
                licence = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{each.name}-{each.version}")
                licences[licence] = each
                packages.append({
                    "SPDXID": component, "name": each.name, "versionInfo": each.version, "downloadLocation": "NOASSERTION",
                    "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": licence,
                    "copyrightText": "NOASSERTION", "supplier": "Organization: Debian",
                    "sourceInfo": f"built from Debian source package {each.source}",
                    "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": _purl(each)}]})
            relations.append({"spdxElementId": artifact, "relationshipType": "CONTAINS", "relatedSpdxElement": component})
    body = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"weft-{version}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch)), "creators": ["Tool: deploy/package.sh"]},
        "packages": packages, "relationships": relations,
        "hasExtractedLicensingInfos": [{"licenseId": key, "name": f"{each.name} {each.version}", "extractedText": each.notice}
                                       for key, each in licences.items()]}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    body["documentNamespace"] = f"https://spdx.org/spdxdocs/weft-{version}-{digest}"
    return json.dumps(body, indent=1, sort_keys=True).encode() + b"\n"


def _purl(component):
    name, version = component.source.split(" ")
    return f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace('~', '~').replace(':', '%3A')}?arch=source"
