import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  bundlePath,
  createRoot,
  descriptorPath,
  hashCollision,
  mapPath,
  type Root,
  sha256,
  typesPath,
} from "@uncaged/workflow/driver";
import { WorkflowError } from "@uncaged/workflow/host";
import type { ClusterClient } from "../client/client.ts";
import { frame, numbered } from "../client/frame.ts";
import { type BundleRow, bundlesPeriod } from "../thread/row.ts";

/**
 * What a bundle consists of: its files, and how many pieces each has. `sha256` is that of the bundle's bytes; an earlier
 * version has stored none.
 */
type BundleInfo = { bytes: number; sha256?: string; files: { name: string; pieces: number }[] };

const pieceBytes = 512 * 1024;

/** The files of a bundle, the bundle itself last: once it is there, all are. */
const paths = {
  descriptor: descriptorPath,
  types: typesPath,
  map: mapPath,
  code: bundlePath,
} as const;
type FileName = keyof typeof paths;
const names = Object.keys(paths) as FileName[];

/** The bundles of a cluster, kept in a storage root as they are read. */
export class Bundles {
  readonly #root: Root;
  readonly #client: ClusterClient;
  readonly #running = new Map<string, Promise<void>>();

  constructor(root: Root, client: ClusterClient) {
    this.#root = root;
    this.#client = client;
  }

  /** The hashes of those that the cluster has. */
  async hashes(): Promise<string[]> {
    const rows = await this.rows();
    return rows.flatMap(({ hash, discarded }) => (discarded === undefined ? hash : [])).sort();
  }

  /** All that the cluster has, those that were put aside included. */
  async rows(): Promise<({ hash: string } & BundleRow)[]> {
    const rows = await this.#client.state("index", bundlesPeriod);
    return rows.map(({ key, bytes }) => {
      return { hash: key, ...(JSON.parse(bytes.toString("utf8")) as BundleRow) };
    });
  }

  /**
   * Has a bundle's files in the storage root. Who loads it hashes it again.
   *
   * @throws WorkflowError `BUNDLE_MISSING` (missing) when the cluster has none; `BUNDLE_CHANGED` when its bytes are not
   * those that were stored first.
   */
  fetch(hash: string): Promise<void> {
    if (existsSync(bundlePath(this.#root, hash))) return Promise.resolve();
    const running = this.#running.get(hash) ?? this.#fetch(hash);
    this.#running.set(hash, running);
    const forget = () => void this.#running.delete(hash);
    void running.then(forget, forget);
    return running;
  }

  /** As {@link fetch}. A bundle that is here already is compared with what the cluster has recorded of it. */
  async fetchProven(hash: string): Promise<void> {
    await this.fetch(hash);
    const first = await this.#first(hash);
    const own = sha256(readFileSync(bundlePath(this.#root, hash)));
    if (first === null || first === own) return;
    this.forget(hash);
    await this.fetch(hash);
  }

  async #fetch(hash: string): Promise<void> {
    const info = (await this.#info(hash)) ?? (await this.#restore(hash));
    if (!info) throw bundleMissing(hash);
    createRoot(this.#root);
    const rows = await this.#client.state("bundle", hash, " AND key <> 'info'");
    const pieces = new Map(rows.map(({ key, bytes }) => [key, bytes]));
    for (const name of names) {
      const file = info.files.find((one) => one.name === name);
      if (!file) continue;
      const found = Array.from({ length: file.pieces }, (_, n) => pieces.get(numbered(name, n)));
      const whole = found.filter((piece) => piece !== undefined);
      if (whole.length < file.pieces) throw bundleMissing(hash);
      const content = Buffer.concat(whole);
      const isOther =
        name === "code" && info.sha256 !== undefined && sha256(content) !== info.sha256;
      if (isOther) throw bundleChanged(hash);
      const path = paths[name](this.#root, hash);
      const aside = `${path}.${process.pid}.tmp`;
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(aside, content, { mode: 0o600 });
      renameSync(aside, path);
    }
  }

  /**
   * Stores a bundle of the storage root in the cluster. One that is there is stored again: its pieces are the same.
   *
   * @throws WorkflowError `HASH_COLLISION` when another bundle has the hash there
   */
  async put(hash: string): Promise<void> {
    const files: BundleInfo["files"] = [];
    const code = readFileSync(bundlePath(this.#root, hash));
    const bytes = code.length;
    const own = sha256(code);
    const first = await this.#first(hash);
    if (first !== null && first !== own) throw hashCollision(hash);
    for (const name of names) {
      const path = paths[name](this.#root, hash);
      if (!existsSync(path)) continue;
      const content = name === "code" ? code : readFileSync(path);
      const pieces = Math.max(1, Math.ceil(content.length / pieceBytes));
      for (let n = 0; n < pieces; n += 1) {
        const piece = content.subarray(n * pieceBytes, (n + 1) * pieceBytes);
        await this.#client.call(
          "bundle",
          hash,
          "piece",
          frame({ key: numbered(name, n) }, [piece]),
        );
      }
      files.push({ name, pieces });
    }
    await this.#client.call("bundle", hash, "seal", { bytes, sha256: own, files });
  }

  /** The SHA-256 that a bundle was first stored with; null where none is. */
  async #first(hash: string): Promise<string | null> {
    const trash = () => this.#client.value<{ info: BundleInfo }>("bundle", hash, "trash");
    const info = (await this.#info(hash)) ?? (await trash())?.info;
    return info?.sha256 ?? null;
  }

  /** Whether the cluster has a bundle. @throws WorkflowError `HASH_COLLISION` when it has another one of this hash. */
  async has(hash: string, own: string): Promise<boolean> {
    const info = await this.#info(hash);
    if (info?.sha256 !== undefined && info.sha256 !== own) throw hashCollision(hash);
    return info !== null;
  }

  #info(hash: string): Promise<BundleInfo | null> {
    return this.#client.value<BundleInfo>("bundle", hash, "info");
  }

  // A thread that was started while its bundle was put aside needs it.
  async #restore(hash: string): Promise<BundleInfo | null> {
    if (!(await this.#client.value("bundle", hash, "trash"))) return null;
    await this.restore(hash);
    return await this.#info(hash);
  }

  async restore(hash: string): Promise<void> {
    await this.#client.call("bundle", hash, "restore", {});
  }

  /** Puts a bundle aside, unless it was stored since `before`. Gives whether it is. */
  async discard(hash: string, before: number): Promise<boolean> {
    const body = { before };
    const { discarded } = await this.#client.call<{ discarded: boolean }>(
      ...(["bundle", hash, "discard", body] as const),
    );
    if (discarded) this.forget(hash);
    return discarded;
  }

  /** Removes a bundle for good that was put aside before a time. Gives whether it is gone. */
  async remove(hash: string, before: number): Promise<boolean> {
    const body = { before };
    const { removed } = await this.#client.call<{ removed: boolean }>(
      ...(["bundle", hash, "remove", body] as const),
    );
    return removed;
  }

  /** Removes a bundle's files from the storage root; the next {@link fetch} makes them anew. */
  forget(hash: string): void {
    for (const name of names) rmSync(paths[name](this.#root, hash), { force: true });
  }
}

const bundleChanged = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_CHANGED",
    `bundle/${hash}: its SHA-256 is not the one that the cluster recorded`,
    "add the original file again to restore it: uncaged-workflow add <name> <file>",
  );

const bundleMissing = (hash: string): WorkflowError =>
  WorkflowError.missing(
    "BUNDLE_MISSING",
    `the cluster has no bundle ${hash}`,
    "add the same file again, or push it from a storage root that has it",
  );
