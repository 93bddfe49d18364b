import { accessSync, constants, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Host } from "@uncaged/workflow/host";
import { makeFolder } from "@uncaged/workflow/internal";

const keptMs = 1_000;
const readWithinMs = 5_000;
// Limit for one pass of the wake loop, which may read many logs and start many workers.
const stalledAfterMs = 300_000;

/** The reason why a server is not ready. */
type Reason = "draining" | "store-unreadable" | "store-unwritable" | "wake-loop-stalled";

/** Answers probes: `/healthz` while the process runs, and `/readyz` while the server can work. */
export class Health {
  isDraining = false;
  readonly #host: Host;
  readonly #stalledAfterMs: number;
  #lookedAt = performance.now();
  /** The last check of the store, cached so that probes without a token cost little. */
  #store: { at: number; reason: Promise<Reason | null> } | null = null;

  constructor(host: Host, options: { stalledAfterMs?: number } = {}) {
    this.#host = host;
    this.#stalledAfterMs = options.stalledAfterMs ?? stalledAfterMs;
  }

  /** Records a pass of the loop that wakes threads. */
  looked(): void {
    this.#lookedAt = performance.now();
  }

  /** Returns the response to a probe; null for any other request. Probes need no token and no `Host`. */
  async answer({ method, url }: Request): Promise<Response | null> {
    // Without a Host, the URL is only a path.
    const path = URL.parse(url, "http://localhost")?.pathname;
    if ((path !== "/healthz" && path !== "/readyz") || (method !== "GET" && method !== "HEAD"))
      return null;
    const reason = path === "/healthz" ? null : await this.reason();
    return new Response(`${reason ?? "ok"}\n`, {
      status: reason === null ? 200 : 503,
      headers: { "Content-Type": "text/plain; charset=utf-8" },
    });
  }

  async reason(): Promise<Reason | null> {
    if (this.isDraining) return "draining";
    const now = performance.now();
    if (now - this.#lookedAt >= this.#stalledAfterMs) return "wake-loop-stalled";
    if (!this.#store || now - this.#store.at >= keptMs)
      this.#store = { at: now, reason: storeProblem(this.#host) };
    return await this.#store.reason;
  }
}

async function storeProblem(host: Host): Promise<Reason | null> {
  const late = new AbortController();
  try {
    accessSync(host.root, constants.R_OK | constants.X_OK);
    const tooLate = sleep(readWithinMs, "late", { signal: late.signal });
    if ((await Promise.race([host.workflows(), tooLate])) === "late") return "store-unreadable";
  } catch {
    return "store-unreadable";
  } finally {
    late.abort();
  }
  try {
    // A full or read-only disk fails only at a write.
    const folder = join(host.root, "run");
    makeFolder(folder);
    writeFileSync(join(folder, "ready"), "ready\n", { mode: 0o600 });
    return null;
  } catch {
    return "store-unwritable";
  }
}
