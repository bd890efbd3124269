"""tacit keys: the folder of keys as its operator and others see it."""
import json
import os
import pathlib
import ssl
import subprocess
import tempfile
import unittest


def tacit(*arguments):
    return subprocess.run([os.environ["TACIT"], *map(str, arguments)], capture_output=True, text=True, timeout=1200)


class Keys(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.keys = pathlib.Path(self.place.name, "keys")

    def test_from_an_authority_to_a_gateway(self):
        self.assertEqual(tacit("keys", "init", self.keys).returncode, 0)
        self.assertEqual(tacit("keys", "issue", self.keys, "a1", "home[17]").returncode, 0)
        done = tacit("keys", "issue", self.keys, "b1", "b2", "--together", "site", "--json")
        self.assertEqual(json.loads(done.stdout)["certificates"], 1)
        folders = sorted(path.name for path in (self.keys / "agents").iterdir())
        self.assertEqual(folders, ["a1", "home.17", "site"])
        for path in self.keys.rglob("*"):
            self.assertEqual(path.stat().st_mode & 0o777, 0o700 if path.is_dir() else 0o600, path)

    def test_the_key_of_a_journal_is_random_private_and_never_overwritten(self):
        files = [pathlib.Path(self.place.name, name) for name in ("one", "two")]
        done = tacit("keys", "journal", files[0])
        self.assertEqual(done.returncode, 0)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, f"{files[0]}: made")
        self.assertLessEqual(len(second), 80)
        self.assertEqual(json.loads(tacit("keys", "journal", files[1], "--json").stdout)["file"], str(files[1]))
        texts = [file.read_text() for file in files]
        self.assertNotEqual(*texts)
        for file, text in zip(files, texts):
            self.assertRegex(text, r"\A[0-9a-f]{64}\n\Z")
            self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        done = tacit("keys", "journal", files[0])
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists already", done.stderr)
        self.assertEqual(files[0].read_text(), texts[0])
        nowhere = pathlib.Path(self.place.name, "nowhere", "key")
        self.assertIn(f"'{nowhere}'", tacit("keys", "journal", nowhere).stderr)

    def test_pythons_tls_takes_the_files_as_they_are(self):
        tacit("keys", "init", self.keys)
        tacit("keys", "issue", self.keys, "b1", "b2", "--together", "site")
        cloud = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        cloud.load_cert_chain(self.keys / "cloud/identity.pem")
        cloud.load_verify_locations(self.keys / "cloud/authority.pem")
        cloud.verify_mode = ssl.CERT_REQUIRED
        agent = ssl.create_default_context(cafile=self.keys / "agents/site/authority.pem")
        agent.load_cert_chain(self.keys / "agents/site/identity.pem")
        to_cloud, to_agent = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = agent.wrap_bio(to_agent, to_cloud, server_hostname="cloud.tacit.internal")
        server = cloud.wrap_bio(to_cloud, to_agent, server_side=True)
        for side in (client, server, client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
        self.assertEqual(server.version(), "TLSv1.3")
        names = [value for kind, value in server.getpeercert()["subjectAltName"] if kind == "URI"]
        self.assertEqual(names, ["tacit:agent:b1", "tacit:agent:b2"])

    def test_renewal(self):
        tacit("keys", "init", self.keys)
        tacit("keys", "issue", self.keys, "a1", "a2")
        before = (self.keys / "agents/a1/identity.pem").read_text()
        self.assertEqual(json.loads(tacit("keys", "renew", self.keys, "--json").stdout)["certificates"], 0)
        self.assertEqual(json.loads(tacit("keys", "renew", self.keys, "a1", "--all", "--json").stdout)["certificates"], 1)
        self.assertNotEqual(before, (self.keys / "agents/a1/identity.pem").read_text())
        done = tacit("keys", "renew", self.keys, "nobody")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "^tacit keys: no such agent: there is no folder '.*/agents/nobody'")

    def test_a_folder_is_checked_as_its_party_would_read_it(self):
        tacit("keys", "init", self.keys)
        tacit("keys", "issue", self.keys, "a1")
        found = [json.loads(tacit("keys", "check", self.keys / folder, "--json").stdout)["party"] for folder in ("cloud", "agents/a1")]
        self.assertEqual(found, ["cloud", "agent"])
        done = tacit("keys", "check", self.keys / "cloud")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"good, for the cloud, for 36[45] more days")
        identity = self.keys / "agents/a1/identity.pem"
        certificate, key = identity.read_text().split("-----BEGIN PRIVATE KEY", 1)
        for code, words, text in ((2, "holds no certificate", "nonsense"), (2, "holds no key", certificate),
                                  (2, "key of another", certificate + "-----BEGIN PRIVATE KEY" +
                                   (self.keys / "cloud/identity.pem").read_text().split("-----BEGIN PRIVATE KEY", 1)[1])):
            identity.write_text(text)
            done = tacit("keys", "check", self.keys / "agents/a1")
            self.assertEqual((done.returncode, words in done.stderr, done.stdout), (code, True, ""), done.stderr)
        for folder, code, words in ((self.keys, 2, "is the authority's folder"), (self.keys / "none", 3, "No such file")):
            done = tacit("keys", "check", folder)
            self.assertEqual((done.returncode, words in done.stderr), (code, True), done.stderr)
        self.assertEqual(tacit("keys", "check", self.keys, "a1").returncode, 2)

    def test_all_are_issued_or_none(self):
        tacit("keys", "init", self.keys)
        tacit("keys", "issue", self.keys, "there")
        for names, words in ((["a1", "../x"], "'..=2fx' cannot be the name of a certificate's folder: give another with --together"),
                             (["a1", "there"], "has a certificate already"), (["a1", ""], "1 to 256 bytes"),
                             (["h[1]", "h.1"], "two of these agents would have the folder agents/h.1"),
                             (["a1", "a1"], "two of these agents")):
            done = tacit("keys", "issue", self.keys, *names)
            self.assertEqual((done.returncode, words in done.stderr), (2, True), done.stderr)
            self.assertEqual([path.name for path in (self.keys / "agents").iterdir()], ["there"])
        self.assertEqual(tacit("keys", "issue", self.keys, "../x", "--together", "x").returncode, 0)
        for more in [], ["--together", "y"]:
            done = tacit("keys", "issue", self.keys, *more)
            self.assertEqual((done.returncode, done.stderr.startswith("tacit keys: missing NAME")), (2, True), done.stderr)
        done = tacit("keys", "init", self.keys)
        self.assertEqual((done.returncode, done.stderr), (2, f"tacit keys: '{self.keys}' has an authority already\n"))

    def test_wrong_uses_say_what_is_wrong(self):
        for arguments, word in ((["issue", self.keys, "a"], "init"), (["make", self.keys], "renew DIR"),
                                (["make"], "'make' is no action: init DIR, issue DIR NAME"),
                                (["renewal", self.keys], "journal FILE; did you mean renew?\n"),
                                ([], "init|issue|renew|check|journal PATH"), (["journal"], "missing FILE: journal FILE"),
                                (["journal", self.keys, "b"], "unexpected argument 'b': journal takes a file"),
                                (["journal", self.keys, "--days", "9"], "does not expire"), (["init"], "missing DIR: init DIR"),
                                (["init", self.keys, "a1"], "unexpected argument 'a1': init takes a folder"),
                                (["check", self.keys, "--days", "9"], "--days goes with init, issue and renew"),
                                (["init", self.keys, "--together", "site"], "--together goes with issue"),
                                (["init", self.keys, "--all"], "--all goes with renew"),
                                (["renew", self.keys, "--authority-days", "9"], "--authority-days goes with init")):
            with self.subTest(arguments=arguments):
                done = tacit("keys", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)
        self.assertFalse(self.keys.exists())
        self.assertEqual(tacit("keys", "init", "/nowhere/keys").returncode, 3)


if __name__ == "__main__":
    unittest.main()
