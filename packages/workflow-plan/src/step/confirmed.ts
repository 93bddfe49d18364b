/*
 * The confirmed state in addition to a plan's definition: the files in the plan's directory that control the host, and
 * the agent. Confirmations are in the user's plan home, where steps cannot write. Each start or resume of a run, and
 * each start of a step, compares the confirmation with the current state.
 */
import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import type { Sandbox, SandboxKind } from "../sandbox/sandbox.ts";
import type { AgentFile } from "./agent-file.ts";
import { confirmationUnreadable, fileChanged, otherDirectory, sandboxGone } from "./errors.ts";

/** A confirmation: the plan and version, the directory, and SHA-256 by path (null for a missing file). */
export type Confirmed = {
  workflowId: string;
  bundle: string;
  cwd: string;
  files: Record<string, string | null>;
  /** Null when the agent was not found on this machine. */
  agent: AgentFile | null;
  /** The agent's command in the settings. */
  command: string | null;
  /** The sandbox of the steps; null if it was not checked. */
  sandbox: SandboxKind | null;
};

/**
 * Reads a confirmation from a file, or returns null if it is missing.
 * @throws ConfigError if it is unreadable.
 */
export function readConfirmed(path: string): Confirmed | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Confirmed;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw confirmationUnreadable(path, cause);
  }
}

/**
 * Checks that the directory and the files are unchanged since the confirmation.
 * @throws ExecutorError for another directory, or for the first changed file
 */
export function checkFiles({ cwd, files, workflowId }: Confirmed, now: string): void {
  if (now !== cwd) throw otherDirectory(workflowId, now, cwd);
  for (const [path, digest] of Object.entries(files)) {
    const found = digestOf(path);
    if (found === digest) continue;
    const how = digest === null ? "was made" : found === null ? "was removed" : "has changed";
    throw fileChanged(workflowId, path, how);
  }
}

/** Checks that a plan that was confirmed with a sandbox still has a sandbox. @throws ExecutorError */
export function checkKind({ sandbox, workflowId }: Confirmed, now: Sandbox): void {
  if (now.kind !== "off" || !sandbox || sandbox === "off") return;
  throw sandboxGone(workflowId, sandbox, now.problem);
}

const mostBytes = 16 * 1024 * 1024;

/**
 * Returns the SHA-256 of a file that controls the host; of a package.json, the SHA-256 of its key `uncaged`. Null for a
 * missing file.
 */
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

/** Returns the content of an open file, or a text with the reason why the host cannot use the file. */
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

/** Returns the part of a package.json that controls the host. The rest of the file may change. */
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
