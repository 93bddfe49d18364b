import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { noSuchFile } from "../arguments/errors.ts";
import { codeOf } from "../output/output.ts";
import type { Session } from "../session/session.ts";
import { type Envelope, pae, payloadType } from "./envelope.ts";
import { notAKey, notSigned } from "./errors.ts";
import { isMinisign, minisignSign } from "./minisign.ts";
import { sshSign } from "./ssh.ts";

/**
 * Signs a statement with an SSH or minisign key. Returns null after Ctrl-C. The key's program reads the key; this
 * program does not.
 * @throws WorkflowError `NOT_SIGNED`, `NO_SIGNER`, and the errors of {@link checkKey}.
 */
export async function signed(
  session: Session,
  given: string,
  statement: object,
): Promise<Envelope | null> {
  const key = { path: resolve(session.cwd, given), given, signal: session.interruption() };
  const sign = checkKey(session, given) === "minisign" ? minisignSign : sshSign;
  const payload = Buffer.from(JSON.stringify(statement));
  const signature = await sign(session, key, pae(payloadType, payload));
  return signature && { payloadType, payload, signatures: [signature] };
}

/**
 * Returns the kind of a key's file. Does not read the secret part of the file.
 * @throws WorkflowError `NO_SUCH_FILE`, `BAD_KEY`, `NOT_SIGNED`.
 */
export function checkKey({ cwd }: Session, given: string): "ssh" | "minisign" {
  const beginning = beginningOf({ path: resolve(cwd, given), given });
  if (isMinisign(beginning)) return "minisign";
  if (/^(-----BEGIN |ssh-|ecdsa-|sk-)/.test(beginning)) return "ssh";
  throw notAKey(given, "is not an SSH or minisign key");
}

/** Returns the first bytes of a file, which identify the kind of a key. */
function beginningOf({ path, given }: { path: string; given: string }): string {
  try {
    if (!statSync(path).isFile()) throw notAKey(given, "is not a file");
    const bytes = Buffer.alloc(18);
    const fd = openSync(path, "r");
    try {
      return bytes.toString("latin1", 0, readSync(fd, bytes));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const code = codeOf(error);
    if (["ENOENT", "ENOTDIR"].includes(code)) throw noSuchFile(given);
    if (["EACCES", "EPERM"].includes(code)) throw notSigned(given, "permission denied");
    throw error;
  }
}
