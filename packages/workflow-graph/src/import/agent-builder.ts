import { comparisonOf, Draft, type PromptPart, type Reference } from "./draft.ts";
import { fieldsOf, isEmpty, listOf, shown, textOf } from "./draft.ts";

/** Tells whether a value is the JSON of an Agent Builder workflow. */
export const isBuilderWorkflow = (value: unknown): boolean =>
  listOf(fieldsOf(value).nodes).some((node) =>
    textOf(fieldsOf(node).node_type).startsWith("builtins."),
  );

/** Makes a graph from the JSON of an Agent Builder workflow. */
export function builderGraph(value: unknown): { draft: Draft; description: string | null } {
  const { name, edges, nodes } = fieldsOf(value);
  const builder = new Builder();
  builder.add(listOf(nodes), listOf(edges), "");
  builder.finish();
  return { draft: builder.draft, description: textOf(name).trim() || null };
}

type BuilderNode = {
  id: string;
  kind: string;
  label: string;
  config: Readonly<Record<string, unknown>>;
  at: string;
};

type BuilderEdge = { source: string; port: string; target: string; at: string };

class Builder {
  readonly draft = new Draft();
  /** The ids of the graph's nodes, by the ids of the workflow's nodes. */
  readonly #ids = new Map<string, string>();
  readonly #handles = new Map<string, (port: string) => string | null>();
  readonly #nodes = new Map<string, BuilderNode>();
  readonly #edges: BuilderEdge[] = [];
  readonly #later: (() => void)[] = [];

  add(nodes: readonly unknown[], edges: readonly unknown[], within: string): void {
    for (const [index, given] of nodes.entries()) {
      const { id, node_type: type, label, config } = fieldsOf(given);
      const at = `${within}nodes[${index}]`;
      if (typeof id !== "string" || id === "") this.draft.leave(at, "the node has no id");
      else {
        const kind = textOf(type).replace(/^builtins\./, "");
        const own = { id, kind, label: textOf(label).trim() || kind, config: fieldsOf(config), at };
        this.#nodes.set(id, own);
        this.#add(own);
      }
    }
    for (const [index, given] of edges.entries()) {
      const {
        source_node_id: source,
        target_node_id: target,
        source_port_id: port,
      } = fieldsOf(given);
      const at = `${within}edges[${index}]`;
      const ends = [textOf(source), textOf(target)];
      const missing = ends.filter((id) => !this.#nodes.has(id));
      if (missing.length === 0)
        this.#edges.push({
          source: textOf(source),
          target: textOf(target),
          port: textOf(port),
          at,
        });
      else this.draft.leave(at, `the line's node ${shown(missing.join(", "))} is not in the file`);
    }
  }

  finish(): void {
    for (const act of this.#later) act();
    for (const { source, target, port, at } of this.#edges) {
      const from = this.#ids.get(source);
      if (from === undefined) continue;
      const handle = this.#handles.get(source)?.(port) ?? null;
      for (const entry of this.#entriesOf(target, new Set()))
        this.draft.connect({ source: from, handle }, entry);
      if (port === "on_error") this.draft.leave(at, "a line for errors");
    }
    this.draft.leave(
      "nodes",
      "history: an agent gets the previous output, not the whole conversation",
    );
  }

  #add(node: BuilderNode): void {
    const { id, kind, label, config, at } = node;
    const take = (own: string, handle: (port: string) => string | null = () => null) => {
      this.#ids.set(id, own);
      this.#handles.set(id, handle);
    };
    switch (kind) {
      case "Start":
        return take(this.draft.add({ name: label, type: "start", at }));
      case "End":
        return this.#leaveResult(node);
      case "Agent":
        return take(this.#addAgent(node));
      case "BinaryApproval": {
        const own = this.draft.add({ name: label, type: "approval", at });
        this.#later.push(() =>
          this.draft.fill(own, { prompt: this.#partsOf(textOf(config.message), id) }),
        );
        return take(own, (port) => (port === "on_reject" ? "reject" : "approve"));
      }
      case "IfElse": {
        const cases = listOf(config.cases).map(fieldsOf);
        const own = this.#addTests(
          node,
          cases.map(({ predicate }) => expressionOf(predicate)),
        );
        const ports = cases.map(({ output_port_id: port }) => textOf(port));
        return take(own, (port) => {
          const index = ports.indexOf(port);
          return index < 0 ? "false" : `condition-${index}`;
        });
      }
      case "Guardrails":
        this.draft.leave(`${at}.config.guardrails`, `${label}: ${guardsIn(config)}`);
        return take(this.#addTests(node, ["guardrails fail"]), (port) =>
          port === "on_pass" ? "false" : "condition-0",
        );
      case "While":
        return take(this.#addLoop(node), () => "false");
      default:
        return this.draft.leave(
          at,
          `${label} (${shown(kind) || "no kind"}): no such node here; the nodes around it are connected`,
        );
    }
  }

  #addAgent({ id, label, config, at }: BuilderNode): string {
    const { schema } = fieldsOf(fieldsOf(config.text).format);
    const effort = textOf(fieldsOf(config.reasoning).effort);
    const model = quoted(expressionOf(config.model));
    const data = {
      agentName: label,
      ...(model && { model }),
      ...(effort && { reasoningEffort: effort }),
      ...(!isEmpty(schema) && { guardrail: { schema } }),
    };
    const own = this.draft.add({ name: label, type: "agent", at, data });
    const messages = listOf(config.messages).map(fieldsOf);
    const user = messages.filter(({ role }) => role === "user");
    this.#later.push(() => {
      const systemPrompt = this.#partsOf(quoted(expressionOf(config.instructions)), id);
      const userPrompt = user.flatMap(({ content }, index) => [
        ...(index > 0 ? ["\n\n"] : []),
        ...listOf(content).flatMap((part) => this.#partsOf(textOf(fieldsOf(part).text), id)),
      ]);
      this.draft.fill(own, { systemPrompt, ...(userPrompt.length > 0 && { userPrompt }) });
    });
    if (user.length < messages.length)
      this.draft.leave(`${at}.config.messages`, `${label}: messages of roles other than user`);
    for (const [index, tool] of listOf(config.tools).entries()) {
      const { type, name } = fieldsOf(tool);
      const said =
        textOf(name) || textOf(type) || textOf(fieldsOf(tool).node_type) || "without a name";
      this.draft.leave(`${at}.config.tools[${index}]`, `${label}: the tool ${shown(said)}`);
    }
    const known =
      /^(hidden_properties|instructions|messages|model|reasoning|text|tools|user_visible|show_progress_to_user|variable_mapping|(reads_from|writes_to)_history)$/;
    const more = Object.keys(config).filter((name) => !known.test(name) && !isEmpty(config[name]));
    if (more.length > 0) this.draft.leave(`${at}.config`, `${label}: ${more.join(", ")}`);
    return own;
  }

  #addTests({ id, label, at }: BuilderNode, sources: readonly string[]): string {
    const own = this.draft.add({ name: label, type: "if", at });
    this.#later.push(() =>
      this.draft.test(
        own,
        sources.map((source, index) => ({
          source,
          at: sources.length > 1 ? `${at}.config.cases[${index}]` : `${at}.config`,
          test: comparisonOf(source, (path) => this.#referenceOf(path, id)),
        })),
      ),
    );
    return own;
  }

  #addLoop(node: BuilderNode): string {
    const own = this.#addTests(node, [expressionOf(node.config.condition)]);
    const { edges, nodes, start_node_id: start } = fieldsOf(node.config.body);
    const inside = listOf(nodes).map((one) => textOf(fieldsOf(one).id));
    this.add(listOf(nodes), listOf(edges), `${node.at}.config.body.`);
    this.#later.push(() => {
      const leaving = new Set(this.#edges.map(({ source }) => source));
      for (const entry of this.#entriesOf(textOf(start), new Set()))
        this.draft.connect({ source: own, handle: "condition-0" }, entry);
      for (const id of inside) {
        const last = this.#ids.get(id);
        if (last !== undefined && !leaving.has(id))
          this.draft.connect({ source: last, handle: this.#handles.get(id)?.("") ?? null }, own);
      }
    });
    return own;
  }

  /** Returns the nodes that a line to a node leads to. Skips an omitted node. */
  #entriesOf(id: string, seen: Set<string>): string[] {
    const own = this.#ids.get(id);
    if (own !== undefined) return [own];
    if (seen.has(id)) return [];
    seen.add(id);
    return this.#edges
      .filter(({ source }) => source === id)
      .flatMap(({ target }) => this.#entriesOf(target, seen));
  }

  #leaveResult({ label, config, at }: BuilderNode): void {
    const source = expressionOf(config.expr);
    if (/^(input|\{\s*"output_text"\s*:\s*input\.output_text\s*\})?$/.test(source.trim())) return;
    this.draft.leave(
      `${at}.config.expr`,
      `${label}: ${shown(source)}; a run's result is its last output`,
    );
  }

  #partsOf(text: string, node: string): PromptPart[] {
    return text
      .split(/(\{\{[^{}]*\}\})/)
      .filter((part) => part !== "")
      .map((part) => {
        if (!part.startsWith("{{") || !part.endsWith("}}")) return part;
        const source = part.slice(2, -2).trim();
        return this.#referenceOf(source, node) ?? { node: null, field: null, source };
      });
  }

  /** Resolves a path: `input` is the output of the node before, `workflow.input_as_text` the prompt. */
  #referenceOf(path: string, node: string): Reference | null {
    const [root, kind, field = null, ...deeper] = path.split(".");
    const before = this.#before(node);
    const start = [...this.#nodes.values()].find((one) => one.kind === "Start")?.id ?? "";
    const from = root === "workflow" ? start : before;
    const own = from === null ? undefined : this.#ids.get(from);
    if (own === undefined || deeper.length > 0) return null;
    if (root === "workflow")
      return kind === "input_as_text" ? { node: own, field: null, source: path } : null;
    if (root !== "input") return null;
    if (kind === undefined || kind === "output_text")
      return { node: own, field: null, source: path };
    return kind === "output_parsed" ? { node: own, field, source: path } : null;
  }

  /** Returns the node whose output is the input of a node. Conditions and approvals pass their input on. */
  #before(id: string): string | null {
    const seen = new Set<string>();
    for (let at = id; !seen.has(at); ) {
      seen.add(at);
      const source = this.#edges.find(({ target }) => target === at)?.source;
      if (source === undefined) return null;
      const kind = this.#nodes.get(source)?.kind ?? "";
      if (!/^(IfElse|BinaryApproval|Guardrails|While)$/.test(kind)) return source;
      at = source;
    }
    return null;
  }
}

const expressionOf = (value: unknown): string => textOf(fieldsOf(value).expression);

/** Returns the text of an expression that is one string literal. */
function quoted(expression: string): string {
  try {
    const value: unknown = JSON.parse(expression);
    return typeof value === "string" ? value : expression;
  } catch {
    return expression;
  }
}

function guardsIn({ guardrails }: Readonly<Record<string, unknown>>): string {
  const kinds = listOf(guardrails).map((one) => textOf(fieldsOf(one).type));
  return `the guardrails ${shown(kinds.join(", ")) || "without a kind"}; use a guardrail of an agent`;
}
