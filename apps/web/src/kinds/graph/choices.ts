import { builtInTools } from "@uncaged/workflow-graph/document";
import type { GraphConfig } from "@uncaged/workflow-server/api-types";
import { queryOf } from "../../lib/request.ts";
import type { Choices } from "./form.ts";

/** The models of the server's configuration. */
export const configQuery = queryOf<GraphConfig>(["config"], "/config");

/** Choices before the server has answered. */
export const fewChoices: Choices = {
  models: [],
  reasoningEfforts: ["none", "low", "medium", "high"],
  tools: builtInTools,
};

/** The choices of forms. Models need a configured key. */
export function choicesOf({ providers }: GraphConfig): Choices {
  const models = providers.filter(({ enabled }) => enabled).flatMap((provider) => provider.models);
  const efforts = models.flatMap(({ reasoningEfforts = [] }) => reasoningEfforts);
  return {
    ...fewChoices,
    models: models.map(({ id }) => id),
    ...(efforts.length > 0 && { reasoningEfforts: [...new Set(efforts)] }),
  };
}
