import { isRecord } from "@uncaged/workflow/internal";
import { notAnEnvelope } from "./errors.ts";

/** The payload type of in-toto: https://github.com/in-toto/attestation/blob/main/spec/v1/envelope.md */
export const payloadType = "application/vnd.in-toto+json";

/** A signature in the text format of its tool. `keyid` is an unsigned hint. */
export type Signature = { keyid: string; text: string };

/** The content of a DSSE envelope. */
export type Envelope = { payloadType: string; payload: Uint8Array; signatures: Signature[] };

/** A parsed envelope. `unknown` lists the paths of keys that DSSE does not define. */
export type ReadEnvelope = Envelope & { unknown: string[] };

/**
 * Returns the bytes that a signature of a DSSE envelope covers, its pre-authentication encoding:
 * https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
 */
export function pae(type: string, payload: Uint8Array): Uint8Array {
  const bytes = Buffer.from(type);
  const head = [`DSSEv1 ${bytes.length} `, bytes, ` ${payload.length} `];
  return Buffer.concat([...head.map((part) => Buffer.from(part)), payload]);
}

/** Returns an envelope in the JSON of DSSE: https://github.com/secure-systems-lab/dsse/blob/master/envelope.md */
export const envelopeJson = ({ payloadType: type, payload, signatures }: Envelope) => ({
  payload: Buffer.from(payload).toString("base64"),
  payloadType: type,
  signatures: signatures.map(({ keyid, text }) => ({
    keyid,
    sig: Buffer.from(text).toString("base64"),
  })),
});

/**
 * Parses an envelope with an in-toto payload. `file` is the name of its file, for errors.
 * @throws WorkflowError `NOT_AN_ATTESTATION`
 */
export function readEnvelope(json: string, file: string): ReadEnvelope {
  const value = parsed(json, file);
  if (!isRecord(value) || !Array.isArray(value.signatures))
    throw notAnEnvelope(file, "not a DSSE envelope");
  const payload = decoded(value.payload);
  if (payload === null) throw notAnEnvelope(file, "not a DSSE envelope: invalid payload");
  if (value.payloadType !== payloadType)
    throw notAnEnvelope(file, `its payloadType is not ${payloadType}`);
  const unknown = Object.keys(value).filter((key) => !envelopeKeys.has(key));
  const signatures = value.signatures.map((one: unknown, n) => {
    const sig = isRecord(one) ? decoded(one.sig) : null;
    if (!isRecord(one) || sig === null)
      throw notAnEnvelope(file, "not a DSSE envelope: invalid signature");
    const others = Object.keys(one).filter((key) => !signatureKeys.has(key));
    unknown.push(...others.map((key) => `signatures.${n}.${key}`));
    const keyid = typeof one.keyid === "string" ? one.keyid : "";
    return { keyid, text: Buffer.from(sig).toString("latin1") };
  });
  if (signatures.length > mostSignatures) throw notAnEnvelope(file, "too many signatures");
  if (signatures.length === 0) throw notAnEnvelope(file, "it has no signature");
  return { payloadType, payload, signatures, unknown };
}

/** Maximum number of signatures. Each check starts a process. */
const mostSignatures = 100;
const envelopeKeys = new Set(["payload", "payloadType", "signatures"]);
const signatureKeys = new Set(["keyid", "sig"]);

function parsed(json: string, file: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw notAnEnvelope(file, "invalid JSON");
  }
}

/**
 * Decodes base64, standard or URL-safe, as DSSE requires; null for other values, an empty text, and base64 that is not
 * canonical.
 */
function decoded(value: unknown): Uint8Array | null {
  if (typeof value !== "string" || value === "") return null;
  const bytes = Buffer.from(value, "base64");
  const canonical = bytes.toString("base64");
  return canonical === value.replaceAll("-", "+").replaceAll("_", "/") ? bytes : null;
}
