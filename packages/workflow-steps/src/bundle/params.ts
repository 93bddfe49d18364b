import type { ThreadInput } from "@uncaged/workflow";
import { isPlain } from "../expression/value.ts";
import type { Registry } from "../registry/registry.ts";

/**
 * The params of a thread: those that it was started with; else those that its prompt is, when that is
 * a JSON object; else the prompt fills the param `prompt`, or the only required text param.
 *
 * @throws WorkflowError `PARAMS_INVALID` that names all that are missing or wrong.
 */
export function paramsOf(
  registry: Registry,
  { prompt, params }: Pick<ThreadInput, "prompt" | "params">,
): Record<string, unknown> {
  if (params !== undefined) return registry.startParams(params);
  return registry.startParams(objectIn(prompt) ?? textParam(registry, prompt));
}

function objectIn(prompt: string): Record<string, unknown> | null {
  if (!prompt.trimStart().startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(prompt);
    return isPlain(value) ? value : null;
  } catch {
    return null;
  }
}

function textParam({ params }: Registry, prompt: string): Record<string, unknown> {
  if (prompt === "") return {};
  const required = params.filter((param) => !("default" in param) && param.type === "STRING");
  const [only, ...others] = required;
  const name = params.some((param) => param.name === "prompt")
    ? "prompt"
    : others.length === 0
      ? only?.name
      : undefined;
  return name === undefined ? {} : { [name]: prompt };
}
