import { renameSync } from "node:fs";
import { join } from "node:path";
import { appendLines } from "@uncaged/workflow/internal";
import type { Caller, Role } from "./role.ts";

const mostBytes = 10 * 1024 * 1024;
const longestPath = 200;
const strangerEveryMs = 1_000;

/** One line of the audit log. It has no query, body or token. */
export type AuditRecord = {
  /** The time, in ISO 8601. */
  at: string;
  /** The name of the token; null for the storage root's own token and for unknown clients. */
  who: string | null;
  role: Caller["role"] | null;
  via: Caller["via"] | null;
  /** The client's address, if the server has a public URL. */
  from?: string;
  what: string;
  thread?: string;
  status: number;
  code?: string;
};

/** A request after its response. */
export type Audited = {
  request: Request;
  caller: Caller | null;
  from?: string | undefined;
  thread?: string | undefined;
  /** The role that the request needs; undefined if the request was refused before routing. */
  needed?: Role | undefined;
  status: number;
  code?: string | undefined;
};

/**
 * Appends refused requests, and requests that change something, to `audit.jsonl`. Moves a file of 10 MiB to
 * `audit.1.jsonl`. Records at most one unknown client per second, so that unknown clients can't displace the other
 * records.
 */
export class AuditLog {
  readonly #folder: string;
  #strangerAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  note({ request, caller, from, thread, needed, status, code }: Audited): void {
    const { method, url } = request;
    const isRead = needed === "read" || method === "GET" || method === "HEAD";
    // Records a read only if the client had no right to read.
    if (isRead && status !== 401 && status !== 403) return;
    // A preflight request has no caller and changes nothing.
    if (!caller && status < 400) return;
    if (!caller && !this.#hasRoom()) return;
    const path = URL.parse(url)?.pathname ?? "";
    const record: AuditRecord = {
      at: new Date().toISOString(),
      who: caller?.name ?? null,
      role: caller?.role ?? null,
      via: caller?.via ?? null,
      ...(from !== undefined && { from }),
      what: `${method} ${path.slice(0, longestPath)}`,
      ...(thread !== undefined && { thread }),
      status,
      ...(code !== undefined && { code }),
    };
    this.#append(`${JSON.stringify(record)}\n`);
  }

  #hasRoom(): boolean {
    const now = performance.now();
    if (now - this.#strangerAt < strangerEveryMs) return false;
    this.#strangerAt = now;
    return true;
  }

  // The request has already been executed, so a failed write is only reported.
  #append(line: string): void {
    const path = join(this.#folder, "audit.jsonl");
    const bytes = new TextEncoder().encode(line);
    try {
      if (appendLines(path, bytes, mostBytes) === null) {
        renameSync(path, join(this.#folder, "audit.1.jsonl"));
        appendLines(path, bytes, mostBytes);
      }
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) console.error(`${path}: can't be written: ${String(error)}`);
      this.#hasFailed = true;
    }
  }
}
