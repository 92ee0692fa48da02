"""An authority and the certificates it gives, made by the openssl command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

OPENSSL = shutil.which("openssl")


class Authority:
    """Files are written into a folder: `<name>.pem` and `<name>.key`."""

    def __init__(self, folder: Path, name: str) -> None:
        if OPENSSL is None:
            pytest.skip("certificates are made with the openssl command")
        folder.mkdir(exist_ok=True)
        self._folder, self._name = folder, name
        self.ca_file = folder / f"{name}.pem"
        self._key(name)
        self._run(
            "req", "-x509", "-new", "-key", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN={name}"
        )

    def give(self, name: str, address: str = "IP:127.0.0.1") -> tuple[Path, Path]:
        """A certificate for an address, and its key."""
        self._key(name)
        self._run("req", "-new", "-key", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        (self._folder / "ext").write_text(f"subjectAltName={address}\n")
        signed = ("-CA", f"{self._name}.pem", "-CAkey", f"{self._name}.key", "-CAcreateserial")
        self._run("x509", "-req", "-in", f"{name}.csr", *signed, "-out", f"{name}.pem", "-days", "2", "-extfile", "ext")
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _key(self, name: str) -> None:
        self._run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{name}.key")

    def _run(self, *arguments: str) -> None:
        subprocess.run([OPENSSL, *arguments], cwd=self._folder, check=True, capture_output=True)
