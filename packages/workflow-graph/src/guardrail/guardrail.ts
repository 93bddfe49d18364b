import type { AgentGuardrail, SchemaCheck } from "../agent/agent.ts";
import type { AgentNode, Guardrail } from "../document/graph.ts";
import { noSchemas } from "./errors.ts";
import { jsonIn } from "@uncaged/workflow-agents/interpreter";

/** Makes the guardrails of a graph's nodes. Compiles each schema once. */
export class Guardrails {
  readonly #schemas: SchemaCheck | undefined;
  readonly #known = new Map<Guardrail, AgentGuardrail>();

  constructor(schemas: SchemaCheck | undefined) {
    this.#schemas = schemas;
  }

  of({ guardrail, id }: AgentNode): AgentGuardrail | null {
    if (guardrail === null) return null;
    const known = this.#known.get(guardrail) ?? made(guardrail, id, this.#schemas);
    this.#known.set(guardrail, known);
    return known;
  }
}

function made(
  { matches, rejects, retries, schema }: Guardrail,
  id: string,
  schemas: SchemaCheck | undefined,
): AgentGuardrail {
  const wanted = matches.map((source) => new RegExp(source, "u"));
  const unwanted = rejects.map((source) => new RegExp(source, "u"));
  let compiled: ReturnType<SchemaCheck> | null = null;
  return {
    ...{ schema, retries },
    async read(output) {
      const text = typeof output === "string" ? output : JSON.stringify(output);
      const problems = [
        ...wanted.flatMap((one) => (one.test(text) ? [] : [`it does not match ${String(one)}`])),
        ...unwanted.flatMap((one) => (one.test(text) ? [`it matches ${String(one)}`] : [])),
      ];
      if (schema === null) return { problems, value: output };
      if (!schemas) throw noSchemas(id);
      const value = typeof output === "string" ? jsonIn(output) : output;
      if (value === undefined) {
        const problem = "it is not JSON, and does not have exactly one JSON code block";
        return { problems: [...problems, problem], value: output };
      }
      compiled ??= schemas(schema);
      return { problems: [...problems, ...(await compiled)(value)], value };
    },
  };
}

/** Returns the request after an answer that failed its guardrail. */
export const againText = (problems: readonly string[]): string =>
  `The answer can't be used:\n${problems.join("\n")}\n\nGive the whole answer once more.`;
