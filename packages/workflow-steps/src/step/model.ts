import { LLMError } from "../adapter/error.ts";
import type { Call } from "./call.ts";

/** Which model is asked, and whose it is, as far as that is said. */
export type Model = { model: string; provider?: string };

const defaultModel = "claude-opus-4-6";

/**
 * The model of a step: `model` in `in` or on the step, which may name its provider (`openai/gpt-5`);
 * without one `<PROVIDER>_MODEL` when a provider is named, then `LLM_MODEL`, then `claude-opus-4-6`.
 *
 * @throws LLMError `bad_request` when `model` or `provider` is empty or no text.
 */
export function modelOf({ step, inputs, value, env }: Call): Model {
  const provider = nameOf("provider", inputs.provider ?? value(step.provider), step.id);
  const named = nameOf("model", inputs.model ?? value(step.model), step.id);
  const own = provider === null ? "" : env[`${provider.toUpperCase().replace(/\W/g, "_")}_MODEL`];
  const model = named ?? (own || env.LLM_MODEL || defaultModel);
  return provider === null ? split(model, step.id) : { model, provider };
}

function nameOf(field: string, given: unknown, id: string): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "string" && given.trim() !== "") return given.trim();
  const found = typeof given === "string" ? "empty" : `no text but ${typeof given}`;
  throw badModel(`${id}: its ${field} is ${found}`);
}

function split(model: string, id: string): Model {
  const at = model.indexOf("/");
  if (at < 0) return { model };
  const [provider, name] = [model.slice(0, at).trim(), model.slice(at + 1).trim()];
  if (provider !== "" && name !== "") return { model: name, provider };
  throw badModel(`${id}: its model ${JSON.stringify(model)} has an empty side`);
}

const badModel = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_MODEL" });
