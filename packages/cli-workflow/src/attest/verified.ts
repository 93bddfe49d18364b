import { resolve } from "node:path";
import { isWorkflowError } from "@uncaged/workflow/host";
import {
  type Check,
  checkStatement,
  readStatement,
  type ReadStatement,
} from "@uncaged/workflow/internal";
import { readText } from "../arguments/values.ts";
import type { Session } from "../session/session.ts";
import { type Envelope, pae, readEnvelope, type Signature } from "./envelope.ts";
import { notAPublicKey } from "./errors.ts";
import { isMinisign, isMinisignPublic, checkMinisign, minisignKeyId } from "./minisign.ts";
import { checkSsh, sshKeyId, sshKeysIn, type SshKeys, sshSigner } from "./ssh.ts";

/** The result of verifying an attestation. */
export type Verified = {
  holds: boolean;
  thread: { threadId: string; hash: string; workflow: string } | null;
  /** The verified signer. `name` comes from an allowed-signers file. */
  signer: { keyid: string; name: string | null } | null;
  /** Statements that can't be verified. */
  stated: { attestedAt: string; engine: string; runtime: string } | null;
  checks: Check[];
};

type Key = { kind: "ssh"; keys: SshKeys } | { kind: "minisign"; text: string };

/**
 * Verifies an attestation with a public key or a file of allowed signers, and compares it with the storage root. The
 * keys that the envelope names are not trusted.
 *
 * @throws WorkflowError `NOT_AN_ATTESTATION`, `BAD_KEY`, `NO_SIGNER`, and the errors of reading a text.
 */
export async function verifyAttestation(
  session: Session,
  { attestation, key: keyFile }: { attestation: string; key: string },
): Promise<Verified> {
  const { cwd } = session;
  const key = await keyIn(resolve(cwd, keyFile), keyFile);
  const file = attestation === "-" ? attestation : resolve(cwd, attestation);
  const envelope = readEnvelope(await readText(file, "--attestation"), attestation);
  const signature = await checkSignatures(session, key, envelope);
  const { read, problem } = statementIn(envelope);
  const checks = [
    ...signature.checks,
    ...(read ? checkStatement(session.host.root, read.statement) : []),
    ...(read?.unknown ?? []).map((name) => unknown("statement", `${name} is of a newer version`)),
    ...(problem === null ? [] : [unknown("statement", problem)]),
    ...envelope.unknown.map((name) => unknown("envelope", `${name} is not signed`)),
  ];
  // DSSE and in-toto require readers to ignore unknown keys.
  const isSound = ({ part, result }: Check) =>
    result === "holds" || part === "statement" || part === "envelope";
  const { signer } = signature;
  return {
    holds: signer !== null && read !== null && checks.every(isSound),
    ...(read ? statedIn(read) : { thread: null, stated: null }),
    signer,
    checks,
  };
}

const unknown = (part: "statement" | "envelope", message: string): Check => ({
  ...{ part, result: "unknown", message },
});

function statedIn({ statement }: ReadStatement): Pick<Verified, "thread" | "stated"> {
  const { thread, attestedAt, engine, runtime } = statement.predicate;
  const { threadId, hash, workflow } = thread;
  const nameOf = ({ name, version }: typeof engine) => `${name} ${version}`;
  return {
    thread: { threadId, hash, workflow },
    stated: { attestedAt, engine: nameOf(engine), runtime: nameOf(runtime) },
  };
}

/** Reads the statement, or returns the problem if a newer version wrote it. */
function statementIn({ payload }: Envelope): {
  read: ReadStatement | null;
  problem: string | null;
} {
  try {
    return { read: readStatement(Buffer.from(payload).toString("utf8")), problem: null };
  } catch (error) {
    if (!isWorkflowError(error)) throw error;
    return { read: null, problem: error.message };
  }
}

/** Reads a public key, or a file of allowed signers. @throws WorkflowError `BAD_KEY`. */
async function keyIn(file: string, given: string): Promise<Key> {
  const text = await readText(file, "--key");
  if (text.includes("PRIVATE KEY-----")) throw notAPublicKey(given, "is a private key");
  if (isMinisign(text)) {
    if (!isMinisignPublic(text)) throw notAPublicKey(given, "is not a public key of minisign");
    return { kind: "minisign", text };
  }
  const keys = sshKeysIn(text);
  if (keys === null) throw notAPublicKey(given, "has no public key");
  return { kind: "ssh", keys };
}

type Signed = Pick<Verified, "signer" | "checks">;

/** Returns the checks of the first signature by the key, else the checks of the first signature. */
async function checkSignatures(session: Session, key: Key, envelope: Envelope): Promise<Signed> {
  const data = pae(envelope.payloadType, envelope.payload);
  let first: Signed | null = null;
  for (const signature of envelope.signatures) {
    const check = key.kind === "ssh" ? bySsh(session, key.keys, signature, data) : null;
    const found = await (check ?? byMinisign(session, key, signature, data));
    if (found.signer) return found;
    first ??= found;
  }
  return first ?? { signer: null, checks: [] };
}

const checksOf = (signature: Omit<Check, "part">, key: Omit<Check, "part">): Check[] => [
  { part: "signature", ...signature },
  { part: "key", ...key },
];

const signedBy = (keyid: string, other: string, signature: Omit<Check, "part">): Signed => ({
  signer: null,
  checks: checksOf(signature, {
    result: "differs",
    message: `it was signed by ${keyid}, ${other}`,
  }),
});

async function bySsh(
  session: Session,
  keys: SshKeys,
  signature: Signature,
  data: Uint8Array,
): Promise<Signed> {
  const { text } = signature;
  const keyid = sshKeyId(text);
  if (keyid === null) return { signer: null, checks: notOfKind("an SSH key") };
  const sound = await checkSsh(session, text, data);
  if (!sound.isDone) return unsound(sound);
  const found = await sshSigner(session, keys, text, data);
  if (found.signer === null)
    return signedBy(keyid, `which --key does not allow: ${found.problem}`, { result: "holds" });
  return soundOf(signature, keyid, found.signer || null);
}

/** The checks of a signature by the key. A wrong `keyid` would hide the signature from programs that search for it. */
function soundOf({ keyid: hint }: Signature, keyid: string, name: string | null): Signed {
  const isRight = hint === "" || hint === keyid;
  const sound = isRight ? holds : ({ result: "differs", message: `its keyid is ${hint}` } as const);
  const message = name === null ? keyid : `${keyid} of ${name}`;
  return { signer: { keyid, name }, checks: checksOf(sound, { result: "holds", message }) };
}

const holds = { result: "holds" } as const;
const unknownPart = { result: "unknown" } as const;

const unsound = ({ problem }: { problem: string }): Signed => ({
  signer: null,
  checks: checksOf(
    { result: "differs", message: `not of this statement: ${problem}` },
    unknownPart,
  ),
});

const notOfKind = (kind: string): Check[] =>
  checksOf(unknownPart, { result: "differs", message: `it was not signed with ${kind}` });

async function byMinisign(
  session: Session,
  key: Key,
  signature: Signature,
  data: Uint8Array,
): Promise<Signed> {
  const { text } = signature;
  if (key.kind !== "minisign" || !isMinisign(text))
    return { signer: null, checks: notOfKind("a minisign key") };
  const [keyid, wanted] = [minisignKeyId(text) ?? "a malformed key", minisignKeyId(key.text)];
  if (keyid !== wanted) return signedBy(keyid, `not ${wanted}`, unknownPart);
  const sound = await checkMinisign(session, key.text, text, data);
  if (!sound.isDone) return unsound(sound);
  return soundOf(signature, keyid, null);
}
