import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash, createPublicKey, verify } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { dataPath } from "../../workflow/src/disk/paths.ts";
import { openRoot } from "../../workflow/src/disk/root.ts";
import { recordedThread } from "../../workflow/test/fixtures/attested.ts";
import { pae } from "../src/attest/envelope.ts";
import { type Ended, removeFolders, Store } from "./program.ts";

afterAll(removeFolders);

const [id, open] = ["01KQXKW18CT8G75T53R8F4G7YG", "01KQXKW18CT8G75T53R8F4G7YH"];
const hasSsh = Bun.which("ssh-keygen") !== null;
let store: Store;
let log: string;

const keygen = (name: string, passphrase = "") =>
  Bun.spawnSync(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", at(name), "-C", ""]);
const at = (name: string) => join(store.folder, name);
const text = (name: string) => readFileSync(at(name), "utf8");

beforeAll(async () => {
  store = new Store();
  const root = openRoot({ path: store.root });
  const { hash } = await recordedThread(root, { threadId: id });
  log = dataPath(root, hash, id);
  await recordedThread(root, { threadId: open, isEnded: false });
  for (const name of ["one", "two"]) keygen(name);
  keygen("locked", "a passphrase");
  writeFileSync(at("askpass"), '#!/bin/sh\necho "$ANSWER"\n', { mode: 0o700 });
  mkdirSync(at("folder"));
  writeFileSync(at("none.json"), "{}");
});

const attest = (key: string, out: string, env = {}): Promise<Ended> =>
  store.run(["attest", id, "--key", key, "--out", out], { env });
const check = async (file: string, key: string): Promise<{ code: number; parts: string[] }> => {
  const { code, stdout } = await store.run([
    ...["verify", "--attestation", file, "--key", key, "--json"],
  ]);
  const { checks } = JSON.parse(stdout) as { checks: { part: string; result: string }[] };
  const wrong = checks.filter(({ result }) => result !== "holds");
  return { code, parts: wrong.map(({ part, result }) => `${part} ${result}`) };
};

type Envelope = { payload: string; payloadType: string; signatures: { sig: string }[] };
const envelope = (name: string) => JSON.parse(text(name)) as Envelope;

test("the bytes to sign follow the specification", () => {
  const bytes = pae("http://example.com/HelloWorld", Buffer.from("hello world"));
  expect(String(bytes)).toBe("DSSEv1 29 http://example.com/HelloWorld 11 hello world");
  expect(String(pae("é", Buffer.from("é")))).toBe("DSSEv1 2 é 2 é");
});

/** Verifies an Ed25519 signature of ssh-keygen without ssh-keygen. */
function isSigned({ payload, payloadType, signatures }: Envelope, publicKey: string): boolean {
  const armored = Buffer.from(signatures[0]?.sig ?? "", "base64").toString();
  const bytes = Buffer.from(armored.replace(/-----.*-----/g, ""), "base64");
  let from = 10;
  const field = () => bytes.subarray(from + 4, (from += 4 + bytes.readUInt32BE(from)));
  const [key, space, , hash, signature] = [field(), field(), field(), field(), field()];
  expect(String(space)).toBe("attest@uncaged-workflow");
  expect(key.toString("base64")).toBe(publicKey.split(" ")[1] ?? "");
  const body = Buffer.from(payload, "base64");
  const data = `DSSEv1 ${payloadType.length} ${payloadType} ${body.length} ${body.toString()}`;
  const sum = createHash(String(hash)).update(data).digest();
  const length = Buffer.from([0, 0, 0, sum.length]);
  const signed = Buffer.concat([bytes.subarray(0, 6), prefix(space), prefix(""), prefix(hash)]);
  const jwk = { kty: "OKP", crv: "Ed25519", x: key.subarray(-32).toString("base64url") };
  const ed25519 = createPublicKey({ key: jwk, format: "jwk" });
  return verify(null, Buffer.concat([signed, length, sum]), ed25519, signature.subarray(-64));
}
const prefix = (field: string | Buffer) =>
  Buffer.concat([Buffer.from([0, 0, 0, field.length]), Buffer.from(field)]);

test.skipIf(!hasSsh)("an attestation is verified with the named key only", async () => {
  expect(await attest("one", "a.json")).toMatchObject({ code: 0, stderr: "" });
  expect(isSigned(envelope("a.json"), text("one.pub"))).toBe(true);
  expect(await check("a.json", "one.pub")).toEqual({ code: 0, parts: [] });
  expect(await check("a.json", "two.pub")).toEqual({ code: 1, parts: ["key differs"] });
  writeFileSync(at("allowed"), `two@x ${text("two.pub")}ada@x ${text("one.pub")}`);
  const { code, stdout } = await store.run([
    "verify",
    "--attestation",
    "a.json",
    "--key",
    "allowed",
  ]);
  expect({ code, line: stdout.split("\n")[1] }).toEqual({
    code: 0,
    line: expect.stringMatching(/^key +holds +SHA256:\S+ of ada@x$/),
  });
  writeFileSync(at("other"), `ada@x namespaces="git" ${text("one.pub")}`);
  expect(await check("a.json", "other")).toEqual({ code: 1, parts: ["key differs"] });
});

test.skipIf(!hasSsh)("a changed envelope and a changed log are found", async () => {
  await attest("one", "b.json");
  const { payload, ...rest } = envelope("b.json");
  const body = Buffer.from(payload, "base64").toString().replace('"completed"', '"failed"');
  writeFileSync(at("c.json"), JSON.stringify({ ...rest, payload: btoa(body) }));
  expect(await check("c.json", "one.pub")).toEqual({
    code: 1,
    parts: ["signature differs", "key unknown", "thread differs"],
  });
  const before = readFileSync(log, "utf8");
  writeFileSync(log, before.replace("step 2", "step x"));
  const found = await store.run(["verify", "--attestation", "b.json", "--key", "one.pub"]);
  writeFileSync(log, before);
  expect(found.code).toBe(1);
  expect(found.stdout).toContain(`does not hold ${log}:3: this record has changed\n`);
});

test.skipIf(!hasSsh)("a key with a passphrase signs after the passphrase is entered", async () => {
  const env = { SSH_ASKPASS: at("askpass"), SSH_ASKPASS_REQUIRE: "force", DISPLAY: ":0" };
  expect((await attest("locked", "d.json", { ...env, ANSWER: "a passphrase" })).code).toBe(0);
  expect(await check("d.json", "locked.pub")).toEqual({ code: 0, parts: [] });
  const { code, stderr } = await attest("locked", "e.json", { ...env, ANSWER: "wrong" });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringMatching(/^error: [^\n]*incorrect passphrase[^\n]*\n$/),
  });
});

test.skipIf(!hasSsh)("invalid input fails with one line, and writes nothing", async () => {
  rmSync(at("two"));
  const before = readdirSync(store.folder);
  const signing: [number, string[]][] = [
    [4, [id, "--key", "missing"]],
    [2, [id, "--key", "folder"]],
    [1, [id, "--key", "two.pub"]],
    [2, [id, "--key", "none.json"]],
    [2, [id, "--key", "one", "-o", "none.json"]],
    [1, [id, "--key", "one", "-o", "nowhere/a.json"]],
    [4, ["01KQXKW18CT8G75T53R8F4G7YZ", "--key", "one"]],
    [1, [open, "--key", "one"]],
    [2, [id]],
  ];
  const verifying: [number, string[]][] = [
    [4, ["--attestation", "missing", "--key", "one.pub"]],
    [1, ["--attestation", "none.json", "--key", "one.pub"]],
    [2, ["--attestation", "none.json", "--key", "one"]],
    [2, ["--attestation", "none.json", "--key", "none.json"]],
    [2, ["--attestation", "none.json"]],
    [2, ["--key", "one.pub"]],
  ];
  const calls = [
    ...signing.map(([code, args]) => ({ code, args: ["attest", ...args] })),
    ...verifying.map(([code, args]) => ({ code, args: ["verify", ...args] })),
  ];
  const secret = text("one").split("\n")[3] ?? "";
  for (const { code, args } of calls) {
    const { stderr, ...rest } = await store.run(args, { env: { SSH_AUTH_SOCK: "" } });
    expect({ args, ...rest }).toEqual({ args, code, stdout: "" });
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
    expect(stderr).not.toContain(secret);
  }
  expect(readdirSync(store.folder)).toEqual(before);
  expect(text("none.json")).toBe("{}");
  expect(existsSync(at("nowhere"))).toBe(false);
});

test.skipIf(Bun.which("minisign") === null)(
  "a minisign key signs an attestation, and verifies it",
  async () => {
    for (const name of ["m", "n"])
      Bun.spawnSync(["minisign", "-G", "-W", "-p", at(`${name}.pub`), "-s", at(name)]);
    expect((await attest("m", "m.json")).code).toBe(0);
    expect(await check("m.json", "m.pub")).toEqual({ code: 0, parts: [] });
    expect(await check("m.json", "n.pub")).toMatchObject({
      code: 1,
      parts: ["signature unknown", "key differs"],
    });
  },
);
