"""Host keys as OpenSSH's known_hosts files say them: patterns, hashes, authorities, revocations."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, ssh

CERTIFICATE = "-cert-v01@openssh.com"
RSA_SIGNATURES = ("rsa-sha2-512", "rsa-sha2-256")


class UnknownHostKey(paramiko.SSHException):
    def __init__(self, hostname: str, key: paramiko.PKey, why: str = ""):
        self.hostname, self.key, self.why = hostname, key, why
        super().__init__(f"{hostname} presented an unknown {key.get_name()} key")


class RevokedHostKey(UnknownHostKey):
    """The server presented a key that a known_hosts file revokes."""


@dataclass
class KnownKeys:
    """What known_hosts files say of one host: key blobs by type, authorities and revoked keys."""

    name: str
    keys: dict[bytes, str] = field(default_factory=dict)
    authorities: set[bytes] = field(default_factory=set)
    revoked: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, files: Iterable[str], host: str, port: int, alias: str | None = None) -> KnownKeys:
        """Read the files; as in ssh an alias has no port, and a key of no port serves any."""
        name = alias or (host if port == paramiko.config.SSH_PORT else f"[{host}]:{port}")
        keys = cls(name)
        keys._read(files, name)
        if not (keys.keys or keys.authorities or alias) and name != host:
            keys._read(files, host)
        return keys

    def _read(self, files: Iterable[str], name: str) -> None:
        for file in files:
            try:
                text = Path(os.path.expanduser(file)).read_text("utf-8", "replace")
            except OSError:
                continue
            for line in text.splitlines():
                self._take(line.split(), name.lower())

    def _take(self, words: list[str], name: str) -> None:
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#") or not matches(words[0], name):
            return
        try:
            blob = base64.b64decode(words[2], validate=True)
        except ValueError:
            return
        if not marker:
            self.keys[blob] = words[1]
        elif marker == "@cert-authority":
            self.authorities.add(blob)
        elif marker == "@revoked":
            self.revoked.add(blob)

    def rank(self, kind: str) -> int:
        """Order in which to ask for host keys of a kind: what can be checked comes first."""
        if kind.endswith(CERTIFICATE):
            return 0 if self.authorities else 3
        kinds = set(self.keys.values())
        return 1 if kind in kinds or (kind in RSA_SIGNATURES and "ssh-rsa" in kinds) else 2

    def check(self, key: paramiko.PKey) -> None:
        """Raise an SSHException unless the key of a server is its host's."""
        why = ""
        if key.public_blob is not None:
            authority, why = self._authority(key.public_blob)
            if authority in self.revoked or key.public_blob.key_blob in self.revoked:
                raise RevokedHostKey(self.name, key)
            if authority is not None and not why and key.asbytes() not in self.revoked:
                return
        if key.asbytes() in self.revoked:
            raise RevokedHostKey(self.name, key)
        if key.asbytes() in self.keys:
            return
        for blob, kind in self.keys.items():
            if kind == key.get_name():
                try:
                    accepted = paramiko.PKey.from_type_string(kind, blob)
                except Exception:  # paramiko raises whatever follows from a damaged line
                    continue
                raise paramiko.BadHostKeyException(self.name, key, accepted)
        raise UnknownHostKey(self.name, key, why)

    def _authority(self, shown: paramiko.pkey.PublicBlob) -> tuple[bytes | None, str]:
        """The known authority that signed a certificate, and what is wrong with it."""
        line = shown.key_type.encode() + b" " + base64.b64encode(shown.key_blob)
        try:
            certificate = ssh.load_ssh_public_identity(line)
            if not isinstance(certificate, ssh.SSHCertificate):
                raise ValueError
            certificate.verify_cert_signature()
        except (ValueError, InvalidSignature):
            return None, "its certificate is damaged"
        by = certificate.signature_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        authority = base64.b64decode(by.split()[1])
        if authority not in self.authorities:
            return None, "no known authority signed its certificate" if self.authorities else ""
        host = re.sub(r"^\[(.*)\]:\d+$", r"\1", self.name).lower()
        principals = [name.decode("utf-8", "replace") for name in certificate.valid_principals]
        if certificate.type != ssh.SSHCertificateType.HOST or certificate.critical_options:
            return authority, "its certificate is none of a host"
        if not certificate.valid_after <= time.time() < certificate.valid_before:
            return authority, "its certificate is not valid today"
        if principals and not any(fnmatch.fnmatchcase(host, name.lower()) for name in principals):
            return authority, f"its certificate is for {', '.join(principals)}"
        return authority, ""


def matches(patterns: str, name: str) -> bool:
    """True if a line's first field means a host: patterns with `*`, `?` and `!`, or a hash."""
    if patterns.startswith("|1|"):
        try:
            salt, digest = (base64.b64decode(part) for part in patterns[3:].split("|"))
        except ValueError:
            return False
        return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)
    matched = False
    for pattern in patterns.lower().split(","):
        # in known_hosts brackets stand for themselves
        if fnmatch.fnmatchcase(name, pattern.lstrip("!").replace("[", "[[]")):
            if pattern.startswith("!"):
                return False
            matched = True
    return matched
