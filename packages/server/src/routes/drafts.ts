import type { GraphDocument } from "@uncaged/workflow-graph";
import { graphSource, isGraph, providersOf } from "@uncaged/workflow-graph/source";
import { findIn, stepsSource } from "@uncaged/workflow-steps/source";
import { documentsOf } from "@uncaged/workflow-steps/threads";
import { readDocument } from "@uncaged/workflow/document";
import {
  type Forked,
  type ForkOptions,
  type Host,
  isWorkflowError,
  type StartedThread,
  type StartOptions,
  type ThreadRef,
} from "@uncaged/workflow/host";
import { firstLine, threadEnv } from "@uncaged/workflow/internal";
import { noProviderKey } from "./errors.ts";
import { withUpload } from "./upload.ts";

/** Environment variables of each provider. Any of them gives access; the first is the API key. */
const accessVariables = {
  openai: ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
  anthropic: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
} as const;

export type Provider = keyof typeof accessVariables;

const mostKnown = 100;
/** Maximum number of rounds of a graph's thread, because graphs may loop. */
export const graphRounds = 1000;

type Surroundings = { host: Host; env: Record<string, string>; cwd: string };

/** A built document: its hash, and the name to show for its threads. */
export type DraftVersion = { workflow: string; name?: string };

/** Builds documents without a name. Their bundles leave the registered workflows as they are. */
export class Drafts {
  readonly #around: Surroundings;
  /** Hashes of the graphs built by this server, by their text. */
  readonly #built = new Map<string, Promise<string>>();
  /** Resolves after the queued builds. Each build starts several processes, so builds of graphs run one at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  /**
   * Starts a thread on the text of an agent graph or a step workflow.
   * @throws WorkflowError `GRAPH_INVALID` and `STEPS_INVALID` (usage), `NO_PROVIDER_KEY`.
   */
  async start(
    text: string,
    given: Omit<StartOptions, "workflow" | "env" | "cwd">,
  ): Promise<StartedThread> {
    const { host, env, cwd } = this.#around;
    const { name, ...rest } = given;
    return await this.#with(text, name, async (version, graph) => {
      const own = graph && { prompt: promptOf(graph), maxRounds: graphRounds };
      return await host.start({ ...own, ...rest, ...version, env, cwd });
    });
  }

  /** Forks a thread on the text of a document. @throws WorkflowError as {@link start}. */
  async fork(
    ref: ThreadRef,
    text: string,
    options: Omit<ForkOptions, "env" | "on">,
  ): Promise<Forked> {
    const { host, env } = this.#around;
    const { workflow } = await host.read(ref);
    const name = options.name ?? workflow;
    return await this.#with(text, name, ({ workflow: on, name: shown = on }) =>
      host.fork(ref, { ...options, name: shown, on, env }),
    );
  }

  async #with<Result>(
    text: string,
    name: string | undefined,
    use: (version: DraftVersion, graph: Partial<GraphDocument> | null) => Promise<Result>,
  ): Promise<Result> {
    const file = fileOf(name);
    if (!isGraph(text, file)) return await use(await this.steps(text, { name }), null);
    const { document } = readDocument(text, file, "GRAPH_INVALID");
    const graph = document as Partial<GraphDocument>;
    await this.checkKeys(graph);
    return await this.graph(text, (workflow) => use(named(workflow, name), graph), file);
  }

  /** Calls `use` with the hash of a graph. Builds it again if the garbage collector has deleted the unused bundle. */
  async graph<Result>(
    text: string,
    use: (hash: string) => Promise<Result>,
    file = "graph.json",
  ): Promise<Result> {
    try {
      return await use(await this.#hashOf(text, file));
    } catch (error) {
      if (!isWorkflowError(error) || error.kind !== "missing") throw error;
      this.#built.delete(text);
      return await use(await this.#hashOf(text, file));
    }
  }

  #hashOf(text: string, file: string): Promise<string> {
    const known = this.#built.get(text);
    if (known) return known;
    if (this.#built.size >= mostKnown) this.#built.clear();
    const source = graphSource(() => undefined, { isChecked: false });
    const building = this.#turn.then(() => this.#store(text, file, source));
    this.#turn = building.catch(() => undefined);
    this.#built.set(text, building);
    building.catch(() => this.#built.delete(text));
    return building;
  }

  /**
   * Builds a step workflow. The workflows that its steps run may be registered. `name` is the name to show; by default
   * the name in the document.
   */
  async steps(
    text: string,
    { name, file = fileOf(name) }: { name?: string | undefined; file?: string },
  ): Promise<DraftVersion> {
    const { host, cwd } = this.#around;
    const find = findIn(cwd, async (child) => {
      const { hash } = await host.resolve(child);
      return documentsOf(hash, await host.descriptor(hash));
    });
    const source = stepsSource(() => undefined, { isClosed: true, find });
    const workflow = await this.#store(text, file, source);
    const own = readDocument(text, file).document as { name?: unknown };
    return named(workflow, name ?? (typeof own.name === "string" ? own.name : ""));
  }

  async #store(
    text: string,
    file: string,
    source: ReturnType<typeof graphSource> | ReturnType<typeof stepsSource>,
  ): Promise<string> {
    return await withUpload(file, new Map([[file, text]]), async (path) => {
      const { hash } = await this.#around.host.store(path, { sources: [source] });
      return hash;
    });
  }

  /**
   * Checks that the environment has keys for the graph's providers.
   * @throws WorkflowError `NO_PROVIDER_KEY`, `GRAPH_INVALID`.
   */
  async checkKeys(graph: Partial<GraphDocument>): Promise<void> {
    for (const provider of providersOf(graph)) {
      if (!(await this.hasAccess(provider))) throw noProviderKey(accessVariables[provider][0]);
    }
  }

  /** Tells whether the threads' environment gives access to a provider. */
  async hasAccess(provider: Provider): Promise<boolean> {
    const { env, cwd } = this.#around;
    const own = await threadEnv(cwd, env);
    return accessVariables[provider].some((name) => own[name]?.trim());
  }
}

/** Returns the name of a draft's file: the name under which an editor saves the draft, if that name is plain. */
const fileOf = (name = ""): string =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) ? `${name}.json` : "document.json";

function named(workflow: string, name = ""): DraftVersion {
  const shown = firstLine(name);
  return shown === "" ? { workflow } : { workflow, name: shown };
}

/** Returns the prompt of a graph's thread, which is the input of the first start node. */
export function promptOf({ nodes = [] }: Partial<GraphDocument>): string {
  const start = nodes.find((node) => node?.type === "start");
  const text = start?.data?.initialInput;
  return typeof text === "string" ? text : "";
}
