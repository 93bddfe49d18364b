import { createHash } from "node:crypto";
import {
  DiskStore,
  readBundle,
  refusals,
  type Root,
  type StoredBundle,
} from "@uncaged/workflow/store";
import type { ClusterClient } from "../client/client.ts";
import { frame, numbered } from "../client/frame.ts";
import { type BundleRow, bundlesPeriod } from "../thread/row.ts";
import { bundleChanged, bundleMissing } from "./errors.ts";

/** Files of a bundle with the number of their pieces. Bundles stored by an older version lack `sha256`. */
type BundleInfo = { bytes: number; sha256?: string; files: { name: string; pieces: number }[] };

const pieceBytes = 512 * 1024;

/** Names of a bundle's files in the cluster. */
const names = ["descriptor", "types", "map", "code"] as const;

/** Bundles of a cluster, with copies in a storage root. */
export class Bundles {
  readonly #root: Root;
  readonly #store: DiskStore;
  readonly #client: ClusterClient;
  readonly #running = new Map<string, Promise<void>>();

  constructor(root: Root, client: ClusterClient) {
    this.#root = root;
    this.#store = new DiskStore(root);
    this.#client = client;
  }

  /** Returns the hashes of the cluster's bundles, without discarded bundles. */
  async hashes(): Promise<string[]> {
    const rows = await this.rows();
    return rows.flatMap(({ hash, discarded }) => (discarded === undefined ? hash : [])).sort();
  }

  /** Returns the rows of all bundles, including discarded bundles. */
  async rows(): Promise<({ hash: string } & BundleRow)[]> {
    const rows = await this.#client.state("index", bundlesPeriod);
    return rows.map(({ key, bytes }) => {
      return { hash: key, ...(JSON.parse(bytes.toString("utf8")) as BundleRow) };
    });
  }

  /**
   * Copies a bundle's files to the storage root. The loader checks the hash.
   *
   * @throws WorkflowError `BUNDLE_MISSING`; `BUNDLE_CHANGED` when the bytes differ from the recorded SHA-256.
   */
  fetch(hash: string): Promise<void> {
    const running = this.#running.get(hash) ?? this.#fetch(hash);
    this.#running.set(hash, running);
    const forget = () => void this.#running.delete(hash);
    void running.then(forget, forget);
    return running;
  }

  /** Copies a bundle like {@link fetch}, and compares an existing copy with the SHA-256 in the cluster. */
  async fetchProven(hash: string): Promise<void> {
    await this.fetch(hash);
    const first = await this.#first(hash);
    const own = await this.#store.readBundle(hash);
    if (first === null || (own && first === sha256(own.code))) return;
    await this.forget(hash);
    await this.fetch(hash);
  }

  async #fetch(hash: string): Promise<void> {
    if ((await this.#store.listBundles()).includes(hash)) return;
    const bundle = await this.read(hash);
    if (!bundle) throw bundleMissing(hash);
    await this.#store.putBundle(bundle);
  }

  /**
   * Reads a bundle from the cluster; null when it or a piece of it is missing. Restores a discarded bundle.
   *
   * @throws WorkflowError `BUNDLE_CHANGED` when the bytes differ from the recorded SHA-256.
   */
  async read(hash: string): Promise<StoredBundle | null> {
    const info = (await this.#info(hash)) ?? (await this.#restore(hash));
    if (!info) return null;
    const rows = await this.#client.state("bundle", hash, " AND key <> 'info'");
    const pieces = new Map(rows.map(({ key, bytes }) => [key, bytes]));
    const files = new Map<string, Buffer>();
    for (const { name, pieces: count } of info.files) {
      const found = Array.from({ length: count }, (_, n) => pieces.get(numbered(name, n)));
      const whole = found.filter((piece) => piece !== undefined);
      if (whole.length < count) return null;
      files.set(name, Buffer.concat(whole));
    }
    const [descriptor = "", types, map] = ["descriptor", "types", "map"].map((name) =>
      files.get(name)?.toString("utf8"),
    );
    const code = new Uint8Array(files.get("code") ?? []);
    if (info.sha256 !== undefined && sha256(code) !== info.sha256) throw bundleChanged(hash);
    return {
      hash,
      code,
      descriptor,
      ...(types !== undefined && { types }),
      ...(map !== undefined && { map }),
    };
  }

  /**
   * Stores a bundle of the storage root in the cluster.
   * @throws WorkflowError `BUNDLE_MISSING`; `HASH_COLLISION`; `BUNDLE_CHANGED` when the bytes differ from the recorded SHA-256
   */
  async put(hash: string): Promise<void> {
    const code = await readBundle(this.#root, hash);
    const bundle = await this.#store.readBundle(hash);
    if (bundle) await this.write({ ...bundle, code });
  }

  /**
   * Stores a bundle in the cluster. Existing files are overwritten with identical pieces.
   * @throws WorkflowError `HASH_COLLISION` when the cluster has another bundle with this hash
   */
  async write(bundle: StoredBundle): Promise<void> {
    const { hash, code } = bundle;
    const own = sha256(code);
    const first = await this.#first(hash);
    if (first !== null && first !== own) throw refusals.hashCollision(hash);
    const files: BundleInfo["files"] = [];
    for (const name of names) {
      const file = bundle[name];
      if (file === undefined) continue;
      const content = Buffer.from(file);
      const pieces = Math.max(1, Math.ceil(content.length / pieceBytes));
      for (let n = 0; n < pieces; n += 1) {
        const piece = content.subarray(n * pieceBytes, (n + 1) * pieceBytes);
        const message = frame({ key: numbered(name, n) }, [piece]);
        await this.#client.call("bundle", hash, "piece", message);
      }
      files.push({ name, pieces });
    }
    await this.#client.call("bundle", hash, "seal", { bytes: code.length, sha256: own, files });
  }

  /** Returns the SHA-256 that the cluster recorded first for a bundle; null if it recorded none. */
  async #first(hash: string): Promise<string | null> {
    const trash = () => this.#client.value<{ info: BundleInfo }>("bundle", hash, "trash");
    const info = (await this.#info(hash)) ?? (await trash())?.info;
    return info?.sha256 ?? null;
  }

  /**
   * Returns whether the cluster has a bundle. @throws WorkflowError `HASH_COLLISION` when it has another bundle with this hash.
   */
  async has(hash: string, code: Uint8Array): Promise<boolean> {
    const info = await this.#info(hash);
    if (info?.sha256 !== undefined && info.sha256 !== sha256(code)) {
      throw refusals.hashCollision(hash);
    }
    return info !== null;
  }

  #info(hash: string): Promise<BundleInfo | null> {
    return this.#client.value<BundleInfo>("bundle", hash, "info");
  }

  // A thread that was started after its bundle was discarded needs the bundle.
  async #restore(hash: string): Promise<BundleInfo | null> {
    if (!(await this.#client.value("bundle", hash, "trash"))) return null;
    await this.restore(hash);
    return await this.#info(hash);
  }

  async restore(hash: string): Promise<void> {
    await this.#client.call("bundle", hash, "restore", {});
  }

  /** Discards a bundle unless it was stored since `before`. Returns whether the bundle is discarded. */
  async discard(hash: string, before: number): Promise<boolean> {
    const body = { before };
    const { discarded } = await this.#client.call<{ discarded: boolean }>(
      ...(["bundle", hash, "discard", body] as const),
    );
    if (discarded) await this.forget(hash);
    return discarded;
  }

  /** Deletes a bundle that was discarded before a time. Returns whether it is deleted. */
  async remove(hash: string, before: number): Promise<boolean> {
    const body = { before };
    const { removed } = await this.#client.call<{ removed: boolean }>(
      ...(["bundle", hash, "remove", body] as const),
    );
    return removed;
  }

  /** Deletes a bundle's files in the storage root. The next {@link fetch} copies them again. */
  async forget(hash: string): Promise<void> {
    await this.#store.removeBundle(hash);
  }
}

/** Returns the SHA-256 of a bundle's code, as recorded with the bundle and in the start records of its threads. */
export const sha256 = (code: Uint8Array): string => createHash("sha256").update(code).digest("hex");
