"""A certificate authority of the test's own, and what it signs, as files of one folder."""

import os

from lab import command, lease


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.name = name
        self._key(name)
        self._openssl("req", "-x509", "-new", "-key", self.path(f"{name}.key"), "-days", "30", "-subj", f"/CN=weft-test-{name}",
                      "-out", self.path(f"{name}.crt"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def sign(self, name, subject, *extensions):
        """NAME.key and NAME.crt."""
        self._key(name)
        lease.write_text(self.path(f"{name}.ext"), "\n".join(extensions) + "\n")
        request = self._openssl("req", "-new", "-key", self.path(f"{name}.key"), "-subj", subject)
        self._openssl("x509", "-req", "-days", "30", "-CA", self.path(f"{self.name}.crt"), "-CAkey", self.path(f"{self.name}.key"),
                      "-CAcreateserial", "-extfile", self.path(f"{name}.ext"), "-out", self.path(f"{name}.crt"), stdin=request)

    def _key(self, name):
        self._openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.path(f"{name}.key"))

    @staticmethod
    def _openssl(*words, **options):
        return command.run("openssl", *words, **options)


def service_account_keys(folder):
    """sa.key and sa.pub, which the API server requires although they are not used here."""
    private, public = os.path.join(folder, "sa.key"), os.path.join(folder, "sa.pub")
    command.run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private)
    command.run("openssl", "pkey", "-in", private, "-pubout", "-out", public)
