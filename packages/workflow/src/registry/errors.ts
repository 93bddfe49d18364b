import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

export const registryFull = (path: string, mostBytes: number): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_FULL",
    `${path} would have more than ${mostBytes} bytes`,
    "remove workflows that you no longer need",
  );

/** `at`, here and below: `file:line:column`. */
export const registryNewer = (at: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_NEWER",
    `${at}: ${reason}, unknown to this version`,
    "use the version of uncaged-workflow that wrote the file, or remove the key",
  );

export const registryChanged = (
  at: string,
  reason: string,
  { line, backup }: { line: number; backup: string },
): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_CHANGED",
    `${at}: ${reason}: the file was damaged, or edited by hand`,
    `compare it with ${backup}, the registry before its last change; then delete line ${line} to accept it`,
  );

export const registryLocked = (path: string): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_LOCKED",
    `another process is changing ${path}`,
    "try again; the lock ends with the process that holds it",
  );

/** `backup`: the path of the registry before its last change; null when it does not exist. */
export const registryBroken = (
  at: string,
  violation: { reason: string },
  backup: string | null,
): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_BROKEN",
    `${at}: ${violation.reason}`,
    backup === null
      ? "correct it; no older copy exists"
      : `correct it, or copy ${backup} there: the registry before its last change`,
    violation,
  );

export const registryLost = (path: string, backup: string): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_BROKEN",
    `${path} is missing, but its backup exists`,
    `copy ${backup} there, or delete that file too for an empty registry`,
  );

export const noLaterTimestamp = (name: string): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_BROKEN",
    `the last version of ${name} has the latest possible timestamp`,
    "correct the timestamp in workflow.yaml",
  );

/** The current version of a name on the target host does not exist on the source host. */
export const versionUnknownHere = (name: string, there: string, here: string): WorkflowError =>
  WorkflowError.failed(
    "VERSION_CONFLICT",
    `${name} is at ${there} on the target, and this version is missing on the source`,
    `copy that version first (pull before a push, push before a pull), or set the name to ${here}: --force`,
  );

/** `current`: the hash of the current version; null when the workflow does not exist. */
export const changedMeanwhile = (
  name: string,
  current: string | null,
  expected: string | null,
): WorkflowError =>
  WorkflowError.failed(
    "VERSION_CONFLICT",
    `${current === null ? `no workflow ${name} found` : `${name} is at ${current}`}${expected === null ? "" : `, not at ${show(expected)}`}: it was changed meanwhile`,
    "nothing was saved; compare both versions, then save on top of the current version",
  );

export const hashCollision = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "HASH_COLLISION",
    `another bundle already has the hash ${hash}`,
    "change a byte of the bundle, such as a comment, and add it again",
  );

export const nameLikeHash = (name: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_NAME",
    `${name} has the form of a bundle's hash`,
    "use a name of another length than 13, or one with a dash",
  );

export const nameTaken = (name: string, other: string): WorkflowError =>
  WorkflowError.usage(
    "NAME_TAKEN",
    `${name} differs only by case from the workflow ${other}`,
    `use ${other}, or a name that is easier to distinguish from it`,
  );

/** `isOnly`: the name has no later version either. */
export const nothingToRollBack = (name: string, hash: string, isOnly: boolean): WorkflowError =>
  WorkflowError.failed(
    "NOTHING_TO_ROLL_BACK",
    isOnly ? `${name} has only the version ${hash}` : `${name} is at its first version ${hash}`,
    isOnly
      ? "add another version first"
      : `to go forward, name one of its versions: uncaged-workflow history ${name}`,
  );

export const workflowNotFound = (
  name: string,
  { root, similar }: { root?: string; similar?: string },
): WorkflowError =>
  WorkflowError.missing(
    "WORKFLOW_NOT_FOUND",
    `no workflow ${show(name)} found${root === undefined ? "" : ` in ${root}`}`,
    similar === undefined ? "list them: uncaged-workflow list" : `did you mean ${similar}?`,
  );

export const versionNotFound = (name: string, version: string): WorkflowError =>
  WorkflowError.missing(
    "VERSION_NOT_FOUND",
    `no version ${show(version)} of ${name} found`,
    `list them: uncaged-workflow history ${name}`,
  );

export const ambiguousHash = (text: string, hashes: readonly string[]): WorkflowError =>
  WorkflowError.usage(
    "VERSION_AMBIGUOUS",
    `${show(text)} matches ${hashes.length} hashes`,
    `give more of the hash: ${hashes.slice(0, 5).join(", ")}${hashes.length > 5 ? ` and ${hashes.length - 5} more` : ""}`,
  );
