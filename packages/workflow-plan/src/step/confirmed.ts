/*
 * What a person confirmed of a plan beside its definition: the files that the host obeys in the plan's directory, and the
 * agent. It is kept in the user's plan home, where no step can write, and is compared when a run begins or is resumed and
 * when a step starts.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ConfigError, ExecutorError } from "../error/error.ts";
import type { SandboxKind } from "../sandbox/sandbox.ts";
import type { AgentFile } from "./agent-file.ts";

/** A confirmation: of which plan and version, in which directory, and SHA-256 by path; null for what is not there. */
export type Confirmed = {
  workflowId: string;
  bundle: string;
  cwd: string;
  files: Record<string, string | null>;
  /** Null when the agent was not found on this machine. */
  agent: AgentFile | null;
  /** The agent's command as the settings name it. */
  command: string | null;
  /** What the steps run in; not known of a plan that was confirmed without a look at it. */
  sandbox?: SandboxKind;
};

/** The folder in a user's plan home with the confirmations of the plans of a home. */
export function confirmationsFolder(userHome: string, home: string): string {
  const name = createHash("sha256").update(resolve(home)).digest("hex").slice(0, 16);
  return join(userHome, "confirmed", name);
}

/** The file in such a folder with the confirmation of a plan. */
export const confirmationFile = (folder: string, id: string): string =>
  join(folder, `${encodeURIComponent(id).slice(0, 200)}.json`);

/** A confirmation that was kept in a file; null without one. @throws ConfigError when it can't be read. */
export function readConfirmed(path: string): Confirmed | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Confirmed;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new ConfigError(`${path} can't be read`, { hint: "confirm the plan again", cause });
  }
}

/** @throws ExecutorError for the first file that has changed since a plan was confirmed, or for another directory. */
export function checkFiles({ cwd, files, workflowId }: Confirmed, now: string): void {
  if (now !== cwd)
    throw refused(workflowId, `${now} is not the directory the plan was confirmed for (${cwd})`);
  for (const [path, digest] of Object.entries(files)) {
    const found = digestOf(path);
    if (found === digest) continue;
    const how = digest === null ? "was made" : found === null ? "was removed" : "has changed";
    throw refused(workflowId, `${path} ${how} since the plan was confirmed`);
  }
}

/**
 * A step may keep the sandbox of the next one from being started, by using up processes for example.
 * @throws ExecutorError when a plan that was confirmed with a sandbox would run without one
 */
export function checkKind({ sandbox, workflowId }: Confirmed, now: SandboxKind): void {
  if (now === "off" && sandbox !== undefined && sandbox !== "off")
    throw refused(
      workflowId,
      `the plan was confirmed with the sandbox ${sandbox}, and there is none now`,
    );
}

/** The error of a plan whose surroundings are not the confirmed ones; its message alone says what to do. */
export const refused = (workflowId: string, what: string): ExecutorError =>
  new ExecutorError(
    `${what}: look at it, then confirm the plan again: uncaged-workflow plan confirm ${workflowId}`,
  );

const mostBytes = 16 * 1024 * 1024;

/** The SHA-256 of a file that the host obeys, of a package.json that of its key `uncaged`; null when there is none. */
export function digestOf(path: string): string | null {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;
  try {
    const bytes = bytesOf(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (typeof bytes === "string" || basename(path) !== "package.json") return sha256(bytes);
    const own = ownPart(bytes.toString("utf8"));
    return own === null ? null : sha256(own);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code !== "ELOOP") return sha256(`error ${code}`);
    return sha256(`link to ${readlinkSync(path)}\n${digestOfTarget(path)}`);
  }
}

function digestOfTarget(path: string): string {
  try {
    return sha256(bytesOf(path, constants.O_RDONLY | constants.O_NONBLOCK));
  } catch (error) {
    return `error ${(error as NodeJS.ErrnoException).code}`;
  }
}

/** What an open file has; what can't be a file that the host obeys, in words. */
function bytesOf(path: string, flags: number): Buffer | string {
  const file = openSync(path, flags);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) return "not a file";
    return stats.size > mostBytes ? `large file of ${stats.size} bytes` : readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** What makes a package.json that of a project; the rest of it may change. */
function ownPart(text: string): string | null {
  if (!text.includes('"uncaged"')) return null;
  try {
    const { uncaged } = JSON.parse(text) as { uncaged?: unknown };
    return uncaged === undefined ? null : JSON.stringify(uncaged);
  } catch {
    return text;
  }
}

const sha256 = (data: Buffer | string): string => createHash("sha256").update(data).digest("hex");
