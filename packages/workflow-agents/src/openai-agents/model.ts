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

/** Returns a provider whose models are recorded in the steps that call them. */
export function recordedProvider(provider: ModelProvider): ModelProvider {
  if (recorded.has(provider)) return provider;
  const made: ModelProvider = {
    getModel: async (name) => recordedModel(await provider.getModel(name), name),
  };
  recorded.add(made);
  return made;
}

/**
 * Returns a model that looks for a recorded answer before it calls `model`, and records each new answer. Outside of
 * steps it is `model` itself.
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
  // The SDK checks the class of a model.
  const made = Object.assign(Object.create(model) as Model, own);
  recorded.add(made);
  models.set(model, made);
  return made;
}

/** The name of a model that the author made. */
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
        // The answer is durable before the SDK runs its tools.
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

/** Yields the events of a recorded answer. Each text is one event. */
function* eventsOf({ responseId: id = "", ...response }: ModelResponse): Generator<StreamEvent> {
  yield { type: "response_started" };
  for (const item of response.output) {
    for (const delta of textsOf(item)) yield { type: "output_text_delta", delta };
  }
  yield { type: "response_done", response: { ...response, id } } as StreamEvent;
}

/** OpenAI's models with the key and the address in the environment of each thread. */
export class ThreadProvider implements ModelProvider {
  readonly #own = new WeakMap<object, ModelProvider>();
  readonly #outside = {};

  async getModel(name?: string): Promise<Model> {
    // The SDK's provider reads the environment once in its process, which runs several threads.
    const env = currentCalls()?.ctx.env ?? this.#outside;
    const own = this.#own.get(env) ?? new OpenAIProvider({ cacheResponsesWebSocketModels: false });
    this.#own.set(env, own);
    return await own.getModel(name);
  }
}
