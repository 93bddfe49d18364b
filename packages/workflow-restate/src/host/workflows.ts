import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import {
  readRegistry,
  type RegisteredWorkflow,
  registryPath,
  resolve,
  type Resolved,
  type Selector,
  selectorsIn,
  type RegistryState,
} from "@uncaged/workflow/store";
import type { Host } from "@uncaged/workflow/host";
import { type MovingHost, movingRoot } from "@uncaged/workflow/internal";
import { joined } from "../client/joined.ts";
import { figuresByHash } from "./list.ts";
import type { HostContext } from "./context.ts";
import { registryBusy } from "./errors.ts";

const mostTries = 20;

type Names = Pick<
  Host,
  | "register"
  | "store"
  | "resolve"
  | "workflows"
  | "workflow"
  | "history"
  | "rollback"
  | "unregister"
  | "version"
  | "source"
  | "changedRoles"
  | "descriptor"
>;

/** Copies registered workflows between hosts. */
export type MovedNames = Pick<MovingHost, "workflow" | "takeWorkflow">;

/**
 * Returns the workflow functions of a host on a cluster. The registry is one text: a change mirrors the text, applies
 * the rules of the local host, and writes the text back with compare-and-set.
 */
export function workflowsOf(context: HostContext): Names & {
  registered: () => Promise<ReadonlySet<string>>;
  selectors: (text: string) => Promise<Selector[]>;
  moving: MovedNames;
} {
  const { local, bundles, root, store } = context;
  const names = movingRoot(root, "");
  let last: Promise<unknown> = Promise.resolve();

  /** Runs actions on the mirrored registry one at a time. */
  function alone<T>(act: () => Promise<T>): Promise<T> {
    const next = last.then(act, act);
    last = next.catch(() => undefined);
    return next;
  }

  async function pull(): Promise<RegistryState> {
    const state = await store.readRegistry();
    if (state.text !== "") writeFileSync(registryPath(root), state.text, { mode: 0o600 });
    else {
      for (const path of [registryPath(root), `${registryPath(root)}.bak`]) {
        rmSync(path, { force: true });
      }
    }
    return state;
  }

  const textNow = (): string => {
    const path = registryPath(root);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };

  const reading = <T>(act: () => Promise<T>): Promise<T> =>
    alone(async () => {
      await pull();
      return await act();
    });

  function changing<T>(act: () => Promise<T>): Promise<T> {
    return alone(async () => {
      for (let tries = 0; tries < mostTries; tries += 1) {
        const { text, version } = await pull();
        const result = await act();
        const changed = textNow();
        if (changed === text || (await store.replaceRegistry(changed, version))) return result;
      }
      throw registryBusy();
    });
  }

  const registryNow = joined(() => reading(() => readRegistry(root)));
  const hashesNow = joined(() => bundles.hashes());

  /** Mirrors the bundles of the given versions. Skips bundles that the cluster lacks. */
  async function fetchAll(hashes: Iterable<string>): Promise<void> {
    await Promise.all([...hashes].map((hash) => bundles.fetch(hash).catch(() => undefined)));
  }

  async function resolved(workflow: string): Promise<Resolved> {
    const registry = await registryNow();
    const stored = registry.has(workflow) ? [] : await hashesNow();
    const found = resolve(registry, workflow, () => stored);
    await bundles.fetch(found.hash);
    return found;
  }

  return {
    moving: {
      workflow: (name) => reading(() => names.workflow(name)),
      takeWorkflow: (...given) => changing(() => names.takeWorkflow(...given)),
    },
    registered: () => reading(async () => versionsIn((await readRegistry(root)).values())),
    async selectors(text) {
      const registry = await reading(() => readRegistry(root));
      // The cluster stores every thread's bundle, so these hashes include the hashes of all threads.
      const hashes = await bundles.hashes();
      return selectorsIn(registry, text, { stored: () => [], logged: () => hashes });
    },
    register: (name, file, options) =>
      changing(async () => {
        const added = await local.register(name, file, options);
        await bundles.put(added.hash);
        return added;
      }),
    async store(file, options) {
      const stored = await local.store(file, options);
      await bundles.put(stored.hash);
      return stored;
    },
    resolve: resolved,
    workflows: () =>
      reading(async () => {
        const registry = await readRegistry(root);
        await fetchAll([...registry.values()].map(({ hash }) => hash));
        return await local.workflows();
      }),
    workflow: (name) =>
      reading(async () => {
        const hash = (await readRegistry(root)).get(name)?.hash;
        await fetchAll(hash === undefined ? [] : [hash]);
        return await local.workflow(name);
      }),
    async history(name) {
      const versions = await reading(() => local.history(name));
      const found = await figuresByHash(context);
      return versions.map((version) => {
        const { threads = 0, figures } = found.get(version.hash) ?? {};
        return { ...version, threads, ...figures };
      });
    },
    rollback: (name, version) =>
      changing(async () => {
        const workflow = (await readRegistry(root)).get(name);
        if (workflow) await fetchAll(versionsIn([workflow]));
        return await local.rollback(name, version);
      }),
    unregister: (name) => changing(() => local.unregister(name)),
    async version(workflow) {
      const { name, hash } = await resolved(workflow);
      return { ...(await local.version(hash)), workflow: name };
    },
    async source(workflow, file) {
      const { hash } = await resolved(workflow);
      return await local.source(hash, file);
    },
    async changedRoles([before, after], roles) {
      const [one, other] = [await resolved(before), await resolved(after)];
      return await local.changedRoles([one.hash, other.hash], roles);
    },
    async descriptor(hash) {
      await fetchAll([hash]);
      return await local.descriptor(hash);
    },
  };
}

/** Returns the hashes of all versions of workflows. */
const versionsIn = (workflows: Iterable<RegisteredWorkflow>): Set<string> =>
  new Set([...workflows].flatMap(({ hash, history }) => [hash, ...history.map((one) => one.hash)]));
