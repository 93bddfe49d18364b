import { descriptorYaml, readDescriptor } from "../bundle/descriptor-yaml.ts";
import { hashOf } from "../bundle/hash.ts";
import type { PrepareOptions, PreparedBundle } from "../bundle/prepare.ts";
import { SourceMap } from "../bundle/source-map.ts";
import type { Descriptor } from "../contract/contract.ts";
import { checkWorkflowName, devNameOf } from "../contract/names.ts";
import type { Added, RegisterOptions, VersionRow, WorkflowRow } from "../host/host.ts";
import { selectorsIn } from "../local/threads/list.ts";
import { sourcesIn } from "../local/workflows.ts";
import { parseRegistry } from "../registry/parse.ts";
import { type Registry, serialiseRegistry } from "../registry/registry.ts";
import {
  checkNewName,
  register,
  type Resolved,
  resolve,
  rollBack,
  unregister,
  versionsOf,
  workflowOf,
} from "../registry/versions.ts";
import type { Selector } from "../record/filter.ts";
import { VersionSums } from "../record/figures.ts";
import type { StoredThreads } from "./stored-threads.ts";
import { sha256 } from "../record/sha256.ts";
import type { StoredBundle, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import { bundleChanged, bundleMissing } from "../bundle/errors.ts";
import { sourceNotFound } from "../host/errors.ts";
import { hashCollision } from "../registry/errors.ts";

/** The bundles and the registry of a store, in the form in which a host returns them. */
export class StoredWorkflows {
  readonly #store: ThreadStore;

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  async resolve(text: string): Promise<Resolved & { bundle: StoredBundle }> {
    const stored = await this.#store.listBundles();
    const found = resolve(await this.#registry(), text, () => stored);
    return { ...found, bundle: await this.#bundle(found.hash, found.name) };
  }

  async selectors(text: string, threads: StoredThreads): Promise<Selector[]> {
    const stored = await this.#store.listBundles();
    const logged = await threads.hashes();
    return selectorsIn(await this.#registry(), text, {
      stored: () => stored,
      logged: () => logged,
    });
  }

  /** Checks a bundle and stores it. */
  async put(file: string, options: PrepareOptions = {}): Promise<string> {
    const { prepareBundle } = await import("../bundle/prepare.ts");
    return await this.#put(await prepareBundle(file, options));
  }

  async register(
    name: string,
    file: string,
    { dev = false, expected, ...options }: RegisterOptions = {},
  ): Promise<Added> {
    const registered = dev ? devNameOf(checkWorkflowName(name)) : checkWorkflowName(name);
    checkNewName(await this.#registry(), registered);
    const { prepareBundle } = await import("../bundle/prepare.ts");
    const bundle = await prepareBundle(file, options);
    const hash = await this.#put(bundle);
    const { unchanged } = await this.#change((registry) =>
      register(registry, registered, hash, system.clock.now(), expected),
    );
    // Another host may have removed the bundle before the registry named it.
    if (!(await this.#store.readBundle(hash))) await this.#put(bundle);
    return { name: registered, hash, unchanged };
  }

  async list(): Promise<WorkflowRow[]> {
    const rows: WorkflowRow[] = [];
    for (const [name, { hash, timestamp, history }] of await this.#registry()) {
      const description = (await this.descriptor(hash))?.description ?? "";
      rows.push({ name, hash, timestamp, description, versions: history.length + 1 });
    }
    return rows.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async show(name: string) {
    const workflow = workflowOf(await this.#registry(), name);
    const { hash, timestamp } = workflow;
    const history = versionsOf(workflow).filter((version) => version.hash !== hash);
    return { name, hash, timestamp, history, descriptor: await this.descriptor(hash) };
  }

  async history(name: string, stored: StoredThreads): Promise<VersionRow[]> {
    const workflow = workflowOf(await this.#registry(), name);
    const rows: VersionRow[] = [];
    for (const { hash, timestamp, sha256: proof = null } of versionsOf(workflow)) {
      const sums = new VersionSums();
      let threads = 0;
      for await (const { row, figures } of stored.indexed(hash)) {
        sums.add(row, figures);
        threads += 1;
      }
      rows.push({
        ...{ hash, sha256: proof, timestamp, current: hash === workflow.hash },
        threads,
        ...sums.figures(system.clock.now()),
      });
    }
    return rows;
  }

  async rollback(name: string, version?: string) {
    const { hash, previous } = await this.#change(async (registry) => {
      const moved = rollBack(registry, name, version);
      await this.#bundle(moved.hash, name);
      return moved;
    });
    return { name, hash, previous };
  }

  async unregister(name: string): Promise<{ name: string }> {
    await this.#change(async (registry) => ({ registry: unregister(registry, name) }));
    return { name };
  }

  async version(text: string) {
    const { name, hash, bundle } = await this.resolve(text);
    const { map } = bundle;
    return {
      workflow: name,
      hash,
      bytes: bundle.code.length,
      descriptor: await this.descriptor(hash),
      sources: [...sourcesOf(bundle).keys()],
      document: map === undefined ? null : (new SourceMap(map).document ?? null),
    };
  }

  async source(text: string, file?: string): Promise<string> {
    const { name, bundle } = await this.resolve(text);
    if (file === undefined) return new TextDecoder().decode(bundle.code);
    const found = sourcesOf(bundle).get(file);
    if (found !== undefined) return found;
    throw sourceNotFound(name, file);
  }

  async changedRoles(
    [before, after]: readonly [string, string],
    roles: readonly string[],
  ): Promise<string[]> {
    const { changedRoles } = await import("../bundle/roles.ts");
    const sources = async (text: string) => {
      const { bundle } = await this.resolve(text);
      const found = sourcesOf(bundle);
      return found.size > 0
        ? found
        : new Map([["bundle.js", new TextDecoder().decode(bundle.code)]]);
    };
    return changedRoles(await sources(before), await sources(after), roles);
  }

  /**
   * Returns the descriptor and the SHA-256 of a bundle for a new thread, without loading its code.
   * @throws WorkflowError `BUNDLE_MISSING`, `BUNDLE_CHANGED`, `BAD_DESCRIPTOR`
   */
  async facts(
    hash: string,
  ): Promise<{ descriptor: Descriptor; sha256: string; bundle: StoredBundle }> {
    const bundle = await this.#bundle(hash, hash);
    const now = hashOf(bundle.code);
    if (now !== hash) throw bundleChanged(hash, now);
    const descriptor = readDescriptor(bundle.descriptor, `${hash}.yaml`);
    return { descriptor, sha256: sha256(bundle.code), bundle };
  }

  /** Returns the descriptor of a stored bundle; null when it is missing or unreadable. */
  async descriptor(hash: string): Promise<Descriptor | null> {
    try {
      const bundle = await this.#store.readBundle(hash);
      return bundle && readDescriptor(bundle.descriptor, `${hash}.yaml`);
    } catch {
      return null;
    }
  }

  async #put({ bytes, descriptor, ...beside }: PreparedBundle): Promise<string> {
    const hash = hashOf(bytes);
    const there = await this.#store.readBundle(hash);
    if (there && hashOf(there.code) === hash && sha256(there.code) !== sha256(bytes)) {
      throw hashCollision(hash);
    }
    // The first call decides the files beside a bundle.
    const first = there && sha256(there.code) === sha256(bytes) ? there : null;
    await this.#store.putBundle({
      ...{ hash, code: bytes, descriptor: first?.descriptor ?? descriptorYaml(descriptor) },
      ...beside,
      ...(first?.types !== undefined && { types: first.types }),
      ...(first?.map !== undefined && { map: first.map }),
    });
    return hash;
  }

  async #bundle(hash: string, name: string): Promise<StoredBundle> {
    const bundle = await this.#store.readBundle(hash);
    if (bundle) return bundle;
    throw bundleMissing(hash, name);
  }

  async #registry(): Promise<Registry> {
    const { text } = await this.#store.readRegistry();
    return parsed(text);
  }

  /** Changes the registry without losing concurrent changes. */
  async #change<Change extends { registry: Registry }>(
    change: (registry: Registry) => Change | Promise<Change>,
  ): Promise<Change> {
    for (;;) {
      const { text, version } = await this.#store.readRegistry();
      const registry = parsed(text);
      const changed = await change(registry);
      if (changed.registry === registry) return changed;
      const written = serialiseRegistry(changed.registry);
      if (await this.#store.replaceRegistry(written, version)) return changed;
    }
  }
}

const parsed = (text: string): Registry => (text === "" ? new Map() : parseRegistry(text).registry);

const sourcesOf = ({ map }: StoredBundle): Map<string, string> =>
  map === undefined ? new Map() : sourcesIn(map);
