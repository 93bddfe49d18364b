import {
  type AgentOutputItem,
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  OpenAIProvider,
  type StreamEvent,
  Usage,
} from "@openai/agents";
import { currentCalls } from "../recorded-call/step.ts";
import { textsOf } from "./items.ts";
import { ModelTurn } from "./turn.ts";

const recorded = new WeakSet<object>();
const models = new WeakMap<Model, Model>();

/** Returns a provider whose model calls are recorded in the calling steps. */
export function recordedProvider(provider: ModelProvider): ModelProvider {
  if (recorded.has(provider)) return provider;
  const made: ModelProvider = {
    getModel: async (name) => recordedModel(await provider.getModel(name), name),
  };
  recorded.add(made);
  return made;
}

/**
 * Returns a model that returns recorded answers, or else calls `model` and records the answer. Outside steps, calls go
 * directly to `model`. The same model gets the same wrapper.
 */
export function recordedModel(model: Model, name?: string): Model {
  if (recorded.has(model)) return model;
  const known = models.get(model);
  if (known) return known;
  const of = name ?? nameOf(model);
  const own = {
    getResponse: (request: ModelRequest) => answer(model, of, request),
    getStreamedResponse: (request: ModelRequest) => streamed(model, of, request),
    ...(model.getRetryAdvice && { getRetryAdvice: model.getRetryAdvice.bind(model) }),
  };
  // The SDK checks the class of a model, so the prototype of the wrapper is the model.
  const made = Object.assign(Object.create(model) as Model, own);
  recorded.add(made);
  models.set(model, made);
  return made;
}

/** Returns the name of a model object, or "" if unknown. */
function nameOf(model: object): string {
  const named = model as { _model?: unknown; modelId?: unknown };
  const name = named._model ?? named.modelId;
  return typeof name === "string" ? name : "";
}

async function answer(model: Model, name: string, request: ModelRequest): Promise<ModelResponse> {
  const calls = currentCalls();
  if (!calls) return await model.getResponse(request);
  const turn = await ModelTurn.open(calls, name, request);
  const { found } = turn;
  if (found) return { ...found, usage: new Usage(found.usage) };
  return await turn.run(async (asked) => {
    const response = await model.getResponse(asked);
    await turn.done(response);
    turn.report(response.output);
    return response;
  });
}

async function* streamed(
  model: Model,
  name: string,
  request: ModelRequest,
): AsyncGenerator<StreamEvent> {
  const calls = currentCalls();
  if (!calls) return yield* model.getStreamedResponse(request);
  const turn = await ModelTurn.open(calls, name, request);
  if (turn.found) return yield* eventsOf(turn.found);
  let events: AsyncIterator<StreamEvent> | null = null;
  try {
    for (;;) {
      const next = await turn.run(async (asked) => {
        events ??= model.getStreamedResponse(asked)[Symbol.asyncIterator]();
        return await events.next();
      });
      if (next.done === true) return;
      const event = next.value;
      if (event.type === "output_text_delta") turn.token(event.delta);
      if (event.type === "response_done") {
        const { id, usage, ...response } = event.response;
        const output = response.output as AgentOutputItem[];
        // The answer must be durable before the SDK runs the requested tools.
        await turn.done({ ...response, output, responseId: id, usage: new Usage(usage) });
        turn.report(output, { isStreamed: true });
      }
      yield event;
    }
  } finally {
    await turn.close();
    await (events as AsyncIterator<StreamEvent> | null)?.return?.();
  }
}

/** Yields a recorded answer as stream events, with one event per text. */
function* eventsOf({ responseId: id = "", ...response }: ModelResponse): Generator<StreamEvent> {
  yield { type: "response_started" };
  for (const item of response.output) {
    for (const delta of textsOf(item)) yield { type: "output_text_delta", delta };
  }
  yield { type: "response_done", response: { ...response, id } } as StreamEvent;
}

/** Provides OpenAI models with the API key and the base URL in the environment of the calling thread. */
export class ThreadProvider implements ModelProvider {
  readonly #own = new WeakMap<object, ModelProvider>();
  readonly #outside = {};

  async getModel(name?: string): Promise<Model> {
    // The SDK's provider reads the environment only once, but threads of one process have different environments.
    const env = currentCalls()?.ctx.env ?? this.#outside;
    const own = this.#own.get(env) ?? new OpenAIProvider({ cacheResponsesWebSocketModels: false });
    this.#own.set(env, own);
    return await own.getModel(name);
  }
}
