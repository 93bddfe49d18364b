import { comparisonOf, Draft, type DraftCondition, type End, type PromptPart } from "./draft.ts";
import { fieldsOf, isEmpty, listOf, type Reference, shown, textOf } from "./draft.ts";

/** A node of an AgentFlow. */
type FlowNode = {
  id: string;
  /** The kind of node, such as `agentAgentflow`. */
  kind: string;
  label: string;
  inputs: Readonly<Record<string, unknown>>;
  place: { x: number; y: number } | null;
  parent: string | null;
  at: string;
};

type FlowEdge = { source: string; target: string; output: number; at: string };

export const isAgentFlow = (value: unknown): boolean =>
  Array.isArray(fieldsOf(value).edges) &&
  listOf(fieldsOf(value).nodes).some((node) =>
    textOf(fieldsOf(fieldsOf(node).data).name).endsWith("Agentflow"),
  );

/** Makes a graph from an AgentFlow of version 2. */
export function flowiseGraph(value: unknown): { draft: Draft; description: string | null } {
  const { description, edges, nodes } = fieldsOf(value);
  const flow = new AgentFlow(listOf(nodes), listOf(edges));
  flow.convert();
  return { draft: flow.draft, description: textOf(description).trim() || null };
}

/** The ports of a converted node: where paths enter, and where its outputs leave. */
type Ports = { entry: string; exits: (output: number) => End };

class AgentFlow {
  readonly draft = new Draft();
  readonly #nodes: FlowNode[];
  readonly #ids: ReadonlySet<string>;
  readonly #edges: FlowEdge[];
  readonly #ports = new Map<string, Ports>();

  constructor(nodes: readonly unknown[], edges: readonly unknown[]) {
    this.#nodes = nodes.flatMap((node, index) => this.#nodeOf(node, `nodes[${index}]`));
    this.#ids = new Set(this.#nodes.map(({ id }) => id));
    this.#edges = edges.flatMap((edge, index) => this.#edgeOf(edge, `edges[${index}]`));
  }

  convert(): void {
    // References need the ids of all nodes.
    const texts: (() => void)[] = [];
    for (const node of this.#nodes) this.#add(node, texts);
    for (const fill of texts) fill();
    for (const { at, source, target, output } of this.#edges) {
      const from = this.#ports.get(source);
      if (!from) continue;
      for (const entry of this.#entriesOf(target, new Set())) {
        const end = from.exits(output);
        if (end.handle === "none") this.draft.leave(at, `${end.source} has no such output`);
        else this.draft.connect(end, entry);
      }
    }
  }

  #nodeOf(given: unknown, at: string): FlowNode[] {
    const { id, data, position, parentNode } = fieldsOf(given);
    const { name, label, inputs } = fieldsOf(data);
    if (typeof id !== "string" || id === "") {
      this.draft.leave(at, "the node has no id");
      return [];
    }
    const { x, y } = fieldsOf(position);
    const isPlaced = Number.isFinite(x) && Number.isFinite(y);
    return [
      {
        ...{ id, at, kind: textOf(name), label: textOf(label).trim() || textOf(name) },
        inputs: fieldsOf(inputs),
        place: isPlaced ? { x: Math.round(Number(x)), y: Math.round(Number(y)) } : null,
        parent: textOf(parentNode) || null,
      },
    ];
  }

  #edgeOf(given: unknown, at: string): FlowEdge[] {
    const { source, target, sourceHandle } = fieldsOf(given);
    if (typeof source !== "string" || typeof target !== "string") {
      this.draft.leave(at, "the line has no source or no target");
      return [];
    }
    const missing = [source, target].filter((id) => !this.#ids.has(id));
    if (missing.length > 0) {
      this.draft.leave(at, `the line's node ${shown(missing.join(", "))} is not in the file`);
      return [];
    }
    const output = Number(/-output-(\d+)$/.exec(textOf(sourceHandle))?.[1] ?? 0);
    return [{ source, target, output, at }];
  }

  #add(node: FlowNode, texts: (() => void)[]): void {
    const { id, kind, label, inputs, place, at } = node;
    const common = { at, place, name: label };
    const single = (own: string): Ports => ({
      entry: own,
      exits: () => ({ source: own, handle: null }),
    });
    switch (kind) {
      case "startAgentflow":
        this.#ports.set(id, single(this.draft.add({ ...common, type: "start" })));
        return this.#leaveInputs(node, {
          formInputTypes: "form fields: the run's prompt is one text",
          startState: "state: a graph has only the previous output",
        });
      case "agentAgentflow":
      case "llmAgentflow":
        return this.#addAgent(node, texts);
      case "conditionAgentflow":
        return this.#addConditions(node, texts);
      case "conditionAgentAgentflow":
        return this.#addChoice(node);
      case "humanInputAgentflow": {
        const own = this.draft.add({ ...common, type: "approval" });
        texts.push(() =>
          this.draft.fill(own, { prompt: this.#partsOf(inputs.humanInputDescription) }),
        );
        this.#ports.set(id, {
          entry: own,
          exits: (output) => ({ source: own, handle: ["approve", "reject"][output] ?? "none" }),
        });
        if (inputs.humanInputDescriptionType === "dynamic")
          this.draft.leave(`${at}.data.inputs`, `${label}: a question that a model writes`);
        return undefined;
      }
      case "stickyNoteAgentflow": {
        const text = plainOf(inputs.note);
        return this.draft.note(text, place);
      }
      case "loopAgentflow":
        return this.#leaveInputs(node, { maxLoopCount: "the limit of the loop" });
      default:
        return this.draft.leave(
          at,
          `${label} (${shown(kind) || "no kind"}): no such node here; the nodes around it are connected`,
        );
    }
  }

  #addAgent({ id, kind, label, inputs, place, at }: FlowNode, texts: (() => void)[]): void {
    const prefix = kind === "llmAgentflow" ? "llm" : "agent";
    const of = (name: string): unknown => inputs[`${prefix}${name}`];
    const where = `${at}.data.inputs`;
    const messages = listOf(of("Messages")).map(fieldsOf);
    const system = messages.filter(({ role }) => role === "system" || role === "developer");
    if (system.length < messages.length)
      this.draft.leave(
        `${where}.${prefix}Messages`,
        `${label}: messages of roles other than system`,
      );
    const config = fieldsOf(of("ModelConfig"));
    const schema = schemaOf(listOf(of("StructuredOutput")), (message) =>
      this.draft.leave(`${where}.${prefix}StructuredOutput`, `${label}: ${message}`),
    );
    const provider = textOf(of("Model"));
    if (!/^(chatOpenAI|chatAnthropic|azureChatOpenAI)?$/.test(provider))
      this.draft.leave(
        `${where}.${prefix}Model`,
        `${label}: the provider ${shown(provider)}; to use a server with OpenAI's protocol, set OPENAI_BASE_URL`,
      );
    const effort = textOf(config.reasoningEffort);
    const data = {
      agentName: label,
      ...(textOf(config.modelName) && { model: textOf(config.modelName) }),
      ...(effort && { reasoningEffort: effort }),
      ...(schema && { guardrail: { schema } }),
    };
    const parts = () => ({
      systemPrompt: system.flatMap(({ content }, index) => [
        ...(index > 0 ? ["\n\n"] : []),
        ...this.#partsOf(content),
      ]),
      userPrompt: this.#partsOf(of("UserMessage")),
    });
    const own = this.draft.add({ name: label, type: "agent", at, place, data, texts: {} });
    this.#ports.set(id, { entry: own, exits: () => ({ source: own, handle: null }) });
    texts.push(() => this.draft.fill(own, parts()));
    const settings = Object.entries(config).filter(
      ([name, value]) =>
        !isEmpty(value) && !/^(modelName|reasoningEffort|cache|streaming|\w+Model)$/.test(name),
    );
    if (settings.length > 0)
      this.draft.leave(
        `${where}.${prefix}ModelConfig`,
        `${label}: ${settings.map(([name]) => name).join(", ")}`,
      );
    for (const [name, words] of Object.entries(agentParts)) {
      const found = of(name);
      if (!isEmpty(found))
        this.draft.leave(`${where}.${prefix}${name}`, `${label}: ${words(found)}`);
    }
  }

  #addConditions({ id, label, inputs, place, at }: FlowNode, texts: (() => void)[]): void {
    const given = listOf(inputs.conditions).map(fieldsOf);
    const own = this.draft.add({ name: label, type: "if", at, place });
    texts.push(() =>
      this.draft.test(
        own,
        given.map((one, index): DraftCondition => {
          const [left, operation, right] = [
            plainOf(one.value1),
            textOf(one.operation),
            plainOf(one.value2),
          ];
          const name = variableIn(left) ?? "";
          const literal = JSON.stringify(right);
          const source =
            operation === "contains" ? `${name}.includes(${literal})` : `${name} == ${literal}`;
          const isKnown = operation === "equal" || operation === "contains";
          return {
            source: `${left} ${operation} ${right}`,
            at: `${at}.data.inputs.conditions[${index}]`,
            test: isKnown ? comparisonOf(source, (path) => this.#referenceOf(path)) : null,
          };
        }),
      ),
    );
    this.#ports.set(id, {
      entry: own,
      exits: (output) => ({
        source: own,
        handle: output < given.length ? `condition-${output}` : "false",
      }),
    });
  }

  /** Adds a condition that a model decides: an agent that names the scenario, and a condition on its answer. */
  #addChoice({ id, label, inputs, place, at }: FlowNode): void {
    const scenarios = listOf(inputs.conditionAgentScenarios).map((one) =>
      plainOf(fieldsOf(one).scenario),
    );
    const instructions = plainOf(inputs.conditionAgentInstructions);
    const list = scenarios.map((one) => `- ${one}`).join("\n");
    const systemPrompt = `${instructions}\n\nAnswer with exactly one of these, and nothing else:\n${list}`;
    const model = textOf(fieldsOf(inputs.conditionAgentModelConfig).modelName);
    const data = { agentName: label, systemPrompt: systemPrompt.trim(), ...(model && { model }) };
    const entry = this.draft.add({ name: label, type: "agent", at, place, data });
    const decide = this.draft.add({
      name: `${label} decides`,
      type: "if",
      at,
      place: place && { x: place.x + 300, y: place.y },
      conditions: scenarios.map((one, index) => ({
        source: one,
        at: `${at}.data.inputs.conditionAgentScenarios[${index}]`,
        test: { of: { node: entry, field: null, source: one }, operator: "equal", value: one },
      })),
    });
    this.draft.connect({ source: entry, handle: null }, decide);
    this.draft.leave(
      at,
      `${label}: the nodes after it get the name of the scenario as their input`,
    );
    this.#ports.set(id, {
      entry,
      exits: (output) => ({
        source: decide,
        handle: output < scenarios.length ? `condition-${output}` : "false",
      }),
    });
  }

  /** Returns the nodes that a line to a node leads to. Follows loops back and skips omitted nodes. */
  #entriesOf(id: string, seen: Set<string>): string[] {
    const ports = this.#ports.get(id);
    if (ports) return [ports.entry];
    if (seen.has(id)) return [];
    seen.add(id);
    const node = this.#nodes.find((one) => one.id === id);
    if (!node) return [];
    if (node.kind === "loopAgentflow") {
      const back = textOf(node.inputs.loopBackToNode);
      const target = this.#nodes.find(
        (one) => back === one.id || back === `${one.id}-${one.label}`,
      );
      if (!target) this.draft.leave(node.at, `${node.label}: ${shown(back)} is missing`);
      return target ? this.#entriesOf(target.id, seen) : [];
    }
    const next = this.#edges.filter(({ source }) => source === id).map(({ target }) => target);
    const entered = new Set(this.#edges.map(({ target }) => target));
    const inside = this.#nodes.filter((one) => one.parent === id && !entered.has(one.id));
    return [...inside.map((one) => one.id), ...next].flatMap((one) => this.#entriesOf(one, seen));
  }

  #leaveInputs({ at, label, inputs }: FlowNode, words: Readonly<Record<string, string>>): void {
    for (const [name, message] of Object.entries(words)) {
      if (!isEmpty(inputs[name]))
        this.draft.leave(`${at}.data.inputs.${name}`, `${label}: ${message}`);
    }
  }

  #partsOf(value: unknown): PromptPart[] {
    return plainOf(value)
      .split(/(\{\{[^{}]*\}\})/)
      .filter((part) => part !== "")
      .map((part) => {
        const name = variableIn(part);
        return name === null
          ? part
          : (this.#referenceOf(name) ?? { node: null, field: null, source: name });
      });
  }

  /** Returns the reference of a variable: `question` (the prompt), a node's id, or a field of a node's output. */
  #referenceOf(name: string): Reference | null {
    const start = this.#nodes.find(({ kind }) => kind === "startAgentflow")?.id ?? "";
    const [, id = "", field = null] = /^(\w+?)(?:\.output(?:\.(\w+))?)?$/.exec(name) ?? [];
    const ports = this.#ports.get(id === "question" ? start : id);
    if (!ports) return null;
    return { node: ports.entry, field: field === "content" ? null : field, source: name };
  }
}

const agentParts: Readonly<Record<string, (value: unknown) => string>> = {
  Tools: (value) => {
    const names = listOf(value).map((one) => textOf(fieldsOf(one).agentSelectedTool));
    return `the tools ${shown(names.join(", "))}`;
  },
  ToolsBuiltInOpenAI: (value) => `the tools ${shown(JSON.stringify(value))}`,
  KnowledgeDocumentStores: () => "document stores",
  KnowledgeVSEmbeddings: () => "vector stores",
  EnableMemory: () => "memory: it gets the previous output, not the whole conversation",
  UpdateState: () => "state: a graph has only the previous output",
};

/** Returns the JSON Schema of a structured output. */
function schemaOf(
  fields: readonly unknown[],
  leave: (message: string) => void,
): Record<string, unknown> | null {
  const properties = fields.map(fieldsOf).flatMap((one): [string, object][] => {
    const key = textOf(one.key);
    const description = textOf(one.description);
    const type = fieldTypes[textOf(one.type)];
    if (key === "" || (!type && one.type !== "enum")) {
      leave(`the field ${shown(key)} of the type ${shown(textOf(one.type))}`);
      return key === "" ? [] : [[key, {}]];
    }
    const values = textOf(one.enumValues).split(",");
    const own = type ?? { type: "string", enum: values.map((value) => value.trim()) };
    return [[key, { ...own, ...(description && { description }) }]];
  });
  if (properties.length === 0) return null;
  const required = properties.map(([name]) => name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

const fieldTypes: Readonly<Record<string, object>> = {
  string: { type: "string" },
  stringArray: { type: "array", items: { type: "string" } },
  number: { type: "number" },
  boolean: { type: "boolean" },
};

const entities: Readonly<Record<string, string>> = {
  "&nbsp;": " ",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

const variableIn = (text: string): string | null =>
  text.startsWith("{{") && text.endsWith("}}") ? text.slice(2, -2).trim() : null;

/** Returns the plain text of a rich text value. */
function plainOf(value: unknown): string {
  return textOf(value)
    .replace(/<li[^>]*>(\s*<p>)?/gi, "- ")
    .replace(/<br\s*\/?>|<\/(p|li|h[1-6]|pre|blockquote)>/gi, "\n")
    .replace(/<\/?[a-z][^<>]*>/gi, "")
    .replace(/&(nbsp|lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity)
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
