import type { Environment } from "@uncaged/workflow/host";
import { makeFolder } from "@uncaged/workflow/internal";
import { createHash } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/*
 * Records in the user's state folder, one for each storage root with which the user has worked. An agent that may write
 * to a project can put an `uncaged.json` and a storage root there. Due threads of such a root must not run merely
 * because a user lists threads in that folder.
 */

const noteOf = (root: string, env: Environment): string => {
  const state = env.XDG_STATE_HOME || join(env.HOME || homedir(), ".local/state");
  const name = createHash("sha256").update(root).digest("hex").slice(0, 32);
  return join(state, "uncaged-workflow/roots", name);
};

/** Returns the identity of a folder, which differs for another folder at the same path; null for a missing folder. */
function identityOf(root: string): string | null {
  const stats = statSync(root, { bigint: true, throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}` : null;
}

/**
 * Records that the user works with a storage root. Without a record, due threads wake only if the user names the root.
 */
export function noteRoot(root: string, env: Environment): void {
  const identity = identityOf(root);
  if (identity === null || isKnownRoot(root, env)) return;
  const note = noteOf(root, env);
  try {
    makeFolder(join(note, ".."));
    writeFileSync(note, identity, { mode: 0o600 });
  } catch {
    // The home may be read-only or missing.
  }
}

/** Tells whether the user has worked with a storage root that is still the same folder. */
export function isKnownRoot(root: string, env: Environment): boolean {
  try {
    return readFileSync(noteOf(root, env), "utf8") === identityOf(root);
  } catch {
    return false;
  }
}
