import { comparisonOf, Draft, type DraftCondition, type End, type PromptPart } from "./draft.ts";
import { type Reference, shown } from "./draft.ts";
import { brokenScript } from "./errors.ts";
import {
  type Assignment,
  type Branch,
  closing,
  isMark,
  plainText,
  sourceOf,
  type Statement,
  statementsOf,
} from "./script.ts";
import { type Token, tokensOf, type Value, valueOf } from "./script.ts";
import { schemaIn } from "./zod.ts";

/** Tells whether a text is the TypeScript of an Agent Builder workflow, for the Agents SDK. */
export const isAgentsScript = (text: string): boolean =>
  /@openai\/agents["']/.test(text) || /\bnew Agent\s*\(/.test(text);

/** Makes a graph from the TypeScript of an Agent Builder workflow. */
export function scriptGraph(
  text: string,
  file: string,
): { draft: Draft; description: string | null } {
  const script = new Script(text, file);
  script.convert();
  return { draft: script.draft, description: script.name };
}

/** The ends of the open paths; none after a return. */
type Ends = readonly End[];

class Script {
  readonly draft = new Draft();
  name: string | null = null;
  readonly #file: string;
  readonly #values = new Map<string, { value: Value; line: number }>();
  /** The instructions that a function returns. */
  readonly #functions = new Map<string, Value>();
  readonly #body: Statement[];
  readonly #used = new Set<string>();
  /** The nodes whose output a variable names: `reviewResult`, `workflow`. */
  readonly #outputs = new Map<string, string>();
  /** Expressions by their variable: `const category = classifyResult.output_parsed.category`. */
  readonly #aliases = new Map<string, string>();
  /** Texts of questions, by variable. */
  readonly #questions = new Map<string, Value>();
  readonly #agents = new Map<string, { name: string; line: number }>();

  constructor(text: string, file: string) {
    this.#file = file;
    const tokens = tokensOf(text, file);
    for (const one of statementsOf(tokens)) this.#declare(one);
    this.#body = this.#workflowIn(tokens);
  }

  convert(): void {
    const start = this.draft.add({ name: "start", type: "start", at: "line 1" });
    this.#outputs.set("workflow", start);
    this.#walk(this.#body, [{ source: start, handle: null }]);
    for (const [name, { line }] of this.#agents) {
      if (!this.#used.has(name)) this.#leave(line, `the agent ${name} is never run`);
    }
    this.#leave(1, "history: an agent gets the previous output, not the whole conversation");
  }

  #declare(one: Statement): void {
    if (one.kind !== "set" || !one.isDeclared) return;
    const { name, tokens, line } = one;
    const value = valueOf(tokens);
    this.#values.set(name, { value, line });
    if (value.kind === "call" && value.calls[0]?.name === "Agent")
      this.#agents.set(name, { name, line });
    const arrow = tokens.findIndex((token) => isMark(token, "=>"));
    if (arrow < 0 || !isMark(tokens[arrow + 1], "{")) return;
    const body = statementsOf(tokens.slice(arrow + 2, closing(tokens, arrow + 1)));
    const returned = body.findLast((statement) => statement.kind === "return");
    if (returned && "tokens" in returned) this.#functions.set(name, valueOf(returned.tokens));
  }

  /** Returns the statements of the function that runs the workflow. */
  #workflowIn(tokens: readonly Token[]): Statement[] {
    const named = tokens.findIndex(({ text }) => text === "runWorkflow");
    const traced = tokens.findIndex(
      ({ text }, index) => text === "withTrace" && isMark(tokens[index + 1], "("),
    );
    const from = traced >= 0 ? traced : named;
    if (from < 0) throw brokenScript(this.#file, tokens.at(-1)?.line ?? 1, "no runWorkflow found");
    const label =
      traced >= 0
        ? valueOf([tokens[traced + 2] ?? tokens[traced]].flatMap((one) => one ?? []))
        : null;
    if (label?.kind === "text")
      this.name = label.parts.filter((part) => typeof part === "string").join("") || null;
    const arrow = tokens.findIndex((token, index) => index > from && isMark(token, "=>"));
    const open = tokens.findIndex(
      (token, index) => index > Math.max(from, arrow) && isMark(token, "{"),
    );
    if (open < 0)
      throw brokenScript(this.#file, tokens[from]?.line ?? 1, "runWorkflow has no body");
    return statementsOf(tokens.slice(open + 1, closing(tokens, open)));
  }

  #walk(statements: readonly Statement[], begun: Ends): Ends {
    let ends = begun;
    for (const one of statements) {
      if (ends.length === 0) {
        this.#leave(one.line, "code after a return");
        return ends;
      }
      if (one.kind === "if") ends = this.#branch(one, ends);
      else if (one.kind === "while") ends = this.#loop(one, ends);
      else if (one.kind === "return") {
        this.#simple(one, ends);
        ends = [];
      } else ends = this.#simple(one, ends);
    }
    return ends;
  }

  #branch(one: Branch, ends: Ends): Ends {
    if (isGuard(one)) return ends;
    const approval = one.condition[0]?.text === "approvalRequest";
    if (approval) {
      const name = sourceOf(one.condition.slice(2, -1));
      const question = this.#questions.get(name);
      const node = this.draft.add({ name: "approval", type: "approval", at: `line ${one.line}` });
      this.draft.fill(node, { prompt: question ? this.#partsOf(question) : [] });
      for (const end of ends) this.draft.connect(end, node);
      return [
        ...this.#walk(one.body, [{ source: node, handle: "approve" }]),
        ...this.#walk(one.otherwise, [{ source: node, handle: "reject" }]),
      ];
    }
    // An `else if` is the next condition of the same node.
    const branches: { body: Statement[]; from: number; to: number }[] = [];
    const conditions: DraftCondition[] = [];
    let rest: readonly Statement[] = [one];
    for (;;) {
      const [next, ...others] = rest;
      const isNext = next?.kind === "if" && others.length === 0 && !isGuard(next);
      if (!isNext || next.condition[0]?.text === "approvalRequest") break;
      const from = conditions.push(...this.#conditionsOf(next));
      branches.push({ body: next.body, from: branches.at(-1)?.to ?? 0, to: from });
      rest = next.otherwise;
    }
    const node = this.draft.add({
      name: "condition",
      type: "if",
      at: `line ${one.line}`,
      conditions,
    });
    for (const end of ends) this.draft.connect(end, node);
    return [
      ...branches.flatMap(({ body, from, to }) => this.#walk(body, handlesOf(node, from, to))),
      ...this.#walk(rest, [{ source: node, handle: "false" }]),
    ];
  }

  #loop(one: Branch, ends: Ends): Ends {
    const conditions = this.#conditionsOf(one);
    const node = this.draft.add({ name: "while", type: "if", at: `line ${one.line}`, conditions });
    for (const end of ends) this.draft.connect(end, node);
    for (const end of this.#walk(one.body, handlesOf(node, 0, conditions.length)))
      this.draft.connect(end, node);
    return [{ source: node, handle: "false" }];
  }

  /** Alternatives become conditions with the same target. */
  #conditionsOf({ condition, line }: Branch): DraftCondition[] {
    return alternativesIn(condition).map((tokens) => {
      const source = sourceOf(tokens);
      const test = comparisonOf(source, (path) => this.#referenceOf(path));
      return { source, at: `line ${line}`, test };
    });
  }

  #simple(one: Statement, ends: Ends): Ends {
    if ("condition" in one) return ends;
    const { tokens, line } = one;
    const name = "name" in one ? one.name : "";
    const run = tokens.findIndex(
      ({ text }, index) =>
        text === "run" && isMark(tokens[index + 1], "(") && isMark(tokens[index - 1], "."),
    );
    if (run >= 0)
      return this.#runAgent(name, tokens.slice(run, closing(tokens, run + 1) + 1), line, ends);
    if (one.kind === "return") {
      const text = sourceOf(tokens);
      if (/[^\w.\s]/.test(text))
        this.#leave(line, `the result ${shown(text)}: a run's result is its last output`);
      return ends;
    }
    if (one.kind === "other") {
      const text = sourceOf(tokens);
      if (!/^(conversationHistory\s*\.\s*push|throw\b|type\b|import\b)/.test(text))
        this.#leave(line, shown(text));
      return ends;
    }
    if ("name" in one) this.#set(one);
    return ends;
  }

  #set({ name, tokens, line }: Assignment): void {
    const source = sourceOf(tokens);
    const value = valueOf(tokens);
    const result = this.#outputs
      .keys()
      .find((known) =>
        new RegExp(`\\b${escaped(known)}\\s*\\.\\s*(finalOutput|newItems)`).test(source),
      );
    if (result !== undefined) {
      this.#outputs.set(name, this.#outputs.get(result) ?? "");
      return;
    }
    if (
      name === "conversationHistory" ||
      name === "runner" ||
      /^(conversation|traceMetadata)/.test(name)
    )
      return;
    if (name === "state") {
      if (value.kind === "object" && value.entries.size > 0)
        this.#leave(
          line,
          `state (${[...value.entries.keys()].join(", ")}): a graph has only the previous output`,
        );
      return;
    }
    const isText = value.kind === "text" && !name.includes(".");
    if (isText) this.#questions.set(name, value);
    else if (/^[A-Za-z_$][\w$.\s]*$/.test(source))
      this.#aliases.set(name, source.replace(/\s+/g, ""));
    if (isText || (this.#aliases.has(name) && !name.includes("."))) return;
    const what = name.startsWith("state.")
      ? "set state"
      : kindsOfCode.find(([pattern]) => pattern.test(source))?.[1];
    this.#leave(line, `${what ?? "code"}: ${shown(`${name} = ${source}`)}`);
  }

  #runAgent(result: string, call: readonly Token[], line: number, ends: Ends): Ends {
    const value = valueOf(call);
    const [agent, messages, options] = value.kind === "call" ? (value.calls[0]?.given ?? []) : [];
    const name = agent?.kind === "code" ? agent.source : "";
    const declared = this.#agents.has(name) ? this.#values.get(name)?.value : undefined;
    const given = declared?.kind === "call" ? declared.calls[0]?.given[0] : undefined;
    if (given?.kind !== "object") {
      this.#leave(line, `a run of ${shown(name)}, which is not an agent of this file`);
      return ends;
    }
    const at = `line ${this.#agents.get(name)?.line ?? line}`;
    const node = this.#addAgent(given.entries, name, at);
    const entry = this.#used.has(name);
    this.#used.add(name);
    for (const end of ends) this.draft.connect(end, node);
    const context = options?.kind === "object" ? options.entries.get("context") : undefined;
    for (const [key, one] of context?.kind === "object" ? context.entries : [])
      if (one.kind === "code") this.#aliases.set(key, one.source.replace(/\s+/g, ""));
    const instructions = given.entries.get("instructions");
    const userPrompt = this.#promptIn(messages);
    this.draft.fill(node, {
      systemPrompt: instructions ? this.#partsOf(instructions) : [],
      ...(userPrompt.length > 0 && { userPrompt }),
    });
    if (!entry) this.#leaveSettings(given.entries, name, at);
    if (result !== "") this.#outputs.set(result, node);
    return [{ source: node, handle: null }];
  }

  #addAgent(entries: ReadonlyMap<string, Value>, name: string, at: string): string {
    const agentName = plainText(entries.get("name")) ?? name;
    const settings = entries.get("modelSettings");
    const reasoning = settings?.kind === "object" ? settings.entries.get("reasoning") : undefined;
    const effort = reasoning?.kind === "object" ? plainText(reasoning.entries.get("effort")) : null;
    const model = plainText(entries.get("model"));
    const type = entries.get("outputType");
    const form = type?.kind === "code" ? this.#values.get(type.source) : undefined;
    const schema = form
      ? schemaIn(form.value, (message) => this.draft.leave(`line ${form.line}`, message))
      : null;
    const data = {
      agentName,
      ...(model && { model }),
      ...(effort && { reasoningEffort: effort }),
      ...(schema && { guardrail: { schema } }),
    };
    return this.draft.add({ name: agentName, type: "agent", at, data });
  }

  #leaveSettings(entries: ReadonlyMap<string, Value>, name: string, at: string): void {
    const known = ["name", "instructions", "model", "outputType", "modelSettings", "tools"];
    const more = [...entries.keys()].filter((key) => !known.includes(key));
    if (more.length > 0) this.draft.leave(at, `${name}: ${more.join(", ")}`);
    const settings = entries.get("modelSettings");
    if (settings?.kind === "object") {
      const others = [...settings.entries.keys()].filter((key) => key !== "reasoning");
      if (others.length > 0)
        this.draft.leave(at, `${name}: the model settings ${others.join(", ")}`);
    }
    const tools = entries.get("tools");
    for (const tool of tools?.kind === "list" ? tools.items : []) {
      const source = tool.kind === "code" ? tool.source : "a tool";
      const made = this.#values.get(source)?.value;
      const by = made?.kind === "call" ? ` (${made.calls[0]?.name ?? ""})` : "";
      this.draft.leave(at, `${name}: the tool ${shown(source)}${by}`);
    }
  }

  /** Returns the last user message after the history. */
  #promptIn(messages: Value | undefined): PromptPart[] {
    const items = messages?.kind === "list" ? messages.items : [];
    const texts = items.flatMap((item) => {
      if (item.kind !== "object" || plainText(item.entries.get("role")) !== "user") return [];
      const content = item.entries.get("content");
      const parts = content?.kind === "list" ? content.items : [];
      return parts.flatMap((part) =>
        part.kind === "object" ? (part.entries.get("text") ?? []) : [],
      );
    });
    return texts.flatMap((text, index) => [...(index > 0 ? ["\n\n"] : []), ...this.#partsOf(text)]);
  }

  #partsOf(value: Value): PromptPart[] {
    if (value.kind === "text") {
      return value.parts.map((part) =>
        typeof part === "string" ? part : this.#asPart(part.source),
      );
    }
    if (value.kind !== "code") return [];
    const returned = this.#functions.get(value.source);
    return returned ? this.#partsOf(returned) : [this.#asPart(value.source)];
  }

  #asPart(source: string): PromptPart {
    return (
      this.#referenceOf(source) ?? {
        node: null,
        field: null,
        source: this.#aliases.get(source) ?? source,
      }
    );
  }

  #referenceOf(path: string): Reference | null {
    const [root = "", ...rest] = path.split(".");
    const alias = this.#aliases.get(root);
    if (alias !== undefined && alias !== path && alias.split(".")[0] !== root)
      return this.#referenceOf([alias, ...rest].join("."));
    const node = this.#outputs.get(root);
    const [kind, field, ...deeper] = rest;
    if (node === undefined || deeper.length > 0) return null;
    if (kind === "output_parsed" || kind === "finalOutput")
      return { node, field: field ?? null, source: path };
    const isWhole = field === undefined && (kind === "output_text" || kind === "input_as_text");
    return isWhole ? { node, field: null, source: path } : null;
  }

  #leave(line: number, message: string): void {
    this.draft.leave(`line ${line}`, message);
  }
}

const kindsOfCode: readonly (readonly [RegExp, string])[] = [
  [/runAndApplyGuardrails|runGuardrails/, "guardrails"],
  [/vectorStores/, "file search"],
  [/^\{/, "transform"],
];

/** Tells whether a branch is `if (!result.finalOutput) throw …`. An agent of a graph always has an output. */
const isGuard = ({ body, condition, otherwise }: Branch): boolean =>
  isMark(condition[0], "!") &&
  otherwise.length === 0 &&
  body.every((one) => !("condition" in one) && one.tokens[0]?.text === "throw");

const handlesOf = (source: string, from: number, to: number): End[] =>
  Array.from({ length: to - from }, (_, index) => ({
    source,
    handle: `condition-${from + index}`,
  }));

function alternativesIn(tokens: readonly Token[]): Token[][] {
  const alternatives: Token[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (/^[([{]$/.test(token.text)) depth += 1;
    if (/^[)\]}]$/.test(token.text)) depth -= 1;
    if (depth === 0 && isMark(token, "||")) alternatives.push([]);
    else alternatives.at(-1)?.push(token);
  }
  return alternatives;
}

const escaped = (text: string): string => text.replace(/[^\w]/g, "\\$&");
