"""AWS KMS of tests: moto's server, which verifies the signature of each request.

It prints one line of JSON with its port and credentials, and ends when its standard input is closed.

moto 5.2 differs from the service in some points, which are corrected here as AWS documents them:
- a message of the type DIGEST is signed as it is;
- a key that is disabled or waits for its deletion is not used;
- a ciphertext of another key is refused with IncorrectKeyException;
- the answer with a public key names the key by its ARN;
- the deletion of a key is scheduled by its ARN too;
- a message of a code has at most 4096 bytes;
- a refusal of credentials and of rights has the names of the service's errors.
"""

import base64
import json
import os
import ssl
import sys
import threading

# From the first request on.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, utils
from moto.core.exceptions import JsonRESTError
from moto.iam.models import iam_backends
from moto.kms.models import KmsBackend
from moto.kms.responses import KmsResponse
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from moto.sts.models import sts_backends
from werkzeug.exceptions import HTTPException
from werkzeug.serving import make_server

ACCOUNT = "123456789012"
HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384()}
USES = [
    "sign",
    "generate_mac",
    "verify_mac",
    "generate_data_key",
    "decrypt",
    "schedule_key_deletion",
]

REFUSALS = {
    "SignatureDoesNotMatch": "InvalidSignatureException",
    "InvalidClientTokenId": "UnrecognizedClientException",
    "AccessDenied": "AccessDeniedException",
}


def refuse(name):
    raise JsonRESTError(name, "refused")


def with_state(use):
    """An operation that needs a usable key."""

    def checked(self):
        key_id = self._get_param("KeyId")
        self._validate_key_id(key_id)
        state = self.kms_backend.describe_key(key_id).key_state
        if state == "PendingDeletion":
            refuse("KMSInvalidStateException")
        if state == "Disabled" and use.__name__ != "schedule_key_deletion":
            refuse("DisabledException")
        return use(self)

    checked.__name__ = use.__name__
    return checked


def sign_digest(sign):
    def signed(self):
        if self._get_param("MessageType") != "DIGEST":
            return sign(self)
        digest = self._get_param("Message")
        algorithm = self._get_param("SigningAlgorithm")
        key = self.kms_backend.describe_key(self._get_param("KeyId"))
        if algorithm not in (key.signing_algorithms or []):
            refuse("InvalidKeyUsageException")
        hashed = HASHES[algorithm[-3:]]
        if len(digest) != hashed.digest_size:
            refuse("ValidationException")
        prehashed = utils.Prehashed(hashed)
        private = key.private_key.private_key
        if algorithm.startswith("ECDSA"):
            signature = private.sign(digest, ec.ECDSA(prehashed))
        else:
            signature = private.sign(digest, padding.PKCS1v15(), prehashed)
        return json.dumps(
            {
                "KeyId": key.arn,
                "Signature": base64.b64encode(signature).decode(),
                "SigningAlgorithm": algorithm,
            }
        )

    signed.__name__ = sign.__name__
    return signed


def name_by_arn(get_public_key):
    def named(self):
        answer = json.loads(get_public_key(self))
        key = self.kms_backend.describe_key(self._get_param("KeyId"))
        return json.dumps({**answer, "KeyId": key.arn})

    named.__name__ = get_public_key.__name__
    return named


def refuse_long(mac):
    def bounded(self):
        if not 1 <= len(self._get_param("Message")) <= 4096:
            refuse("ValidationException")
        return mac(self)

    bounded.__name__ = mac.__name__
    return bounded


def with_names(authenticate):
    def named(self, resource):
        try:
            authenticate(self, resource)
        except HTTPException as error:
            for part, name in REFUSALS.items():
                if part in str(error.description):
                    refuse(name)
            raise

    return named


def correct_moto():
    decrypt = KmsBackend.decrypt

    def of_key(self, ciphertext_blob, encryption_context, key_id=None):
        plaintext, arn = decrypt(self, ciphertext_blob, encryption_context)
        if key_id is not None and self.any_id_to_key_id(key_id) not in arn:
            refuse("IncorrectKeyException")
        return plaintext, arn

    schedule = KmsBackend.schedule_key_deletion

    def by_any_name(self, key_id, days):
        return schedule(self, self.any_id_to_key_id(key_id), days)

    KmsBackend.decrypt = of_key
    KmsBackend.schedule_key_deletion = by_any_name
    authenticate = KmsResponse._authenticate_and_authorize_normal_action
    KmsResponse._authenticate_and_authorize_normal_action = with_names(authenticate)
    KmsResponse.sign = sign_digest(KmsResponse.sign)
    KmsResponse.get_public_key = name_by_arn(KmsResponse.get_public_key)
    for name in ["generate_mac", "verify_mac"]:
        setattr(KmsResponse, name, refuse_long(getattr(KmsResponse, name)))
    for name in USES:
        setattr(KmsResponse, name, with_state(getattr(KmsResponse, name)))


def policy(actions):
    statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def user(name, actions):
    """The access key of a new user who may do this."""
    iam = iam_backends[ACCOUNT]["aws"]
    iam.create_user("us-east-1", name)
    iam.put_user_policy(name, "rights", policy(actions))
    key = iam.create_access_key(name)
    return {"id": key.access_key_id, "secret": key.secret_access_key}


def session():
    """Temporary credentials of a role."""
    iam = iam_backends[ACCOUNT]["aws"]
    trust = json.dumps({"Version": "2012-10-17", "Statement": []})
    role = iam.create_role("role", trust, "/", None, None, [], "3600")
    iam.put_role_policy("role", "rights", policy("kms:*"))
    sts = sts_backends[ACCOUNT]["aws"]
    taken = sts.assume_role("us-east-1", "session", role.arn, None, 3600, None)
    return {
        "id": taken.access_key_id,
        "secret": taken.secret_access_key,
        "token": taken.session_token,
    }


def end_with_the_parent():
    sys.stdin.read()
    os._exit(0)


def main():
    correct_moto()
    context = None
    if len(sys.argv) == 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server(
        "127.0.0.1",
        0,
        app,
        threaded=True,
        request_handler=MotoRequestHandler,
        ssl_context=context,
    )
    about = {
        "port": server.port,
        "user": user("user", ["kms:*"]),
        "onlooker": user("onlooker", ["kms:ListKeys"]),
        "session": session(),
    }
    print(json.dumps(about), flush=True)
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    server.serve_forever()


main()
