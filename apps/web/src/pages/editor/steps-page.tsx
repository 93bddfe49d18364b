import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { type KnownTool, toolsOf } from "@uncaged/workflow-steps/editing";
import { useState } from "react";
import { readDraft } from "../../editor/document/draft.ts";
import { stepsKind } from "../../kinds/steps/kind.ts";
import { readStepsSearch } from "../../lib/search.ts";
import { toolsQuery } from "../../lib/workflows.ts";
import { useTitle } from "../../ui/page.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Editing } from "./editing.tsx";
import { StepsEditor } from "./steps-editor.tsx";

/** The page of the step workflow editor. */
export function StepsPage() {
  const { name = null } = useParams({ strict: false });
  const { run = null } = readStepsSearch(useSearch({ strict: false }));
  useTitle(name ?? "New step workflow");
  const tools = useQuery(toolsQuery);
  if (tools.isPending) return <Skeleton lines={10} />;
  return <StepsEditing key={name} name={name} run={run} tools={toolsOf(tools.data ?? [])} />;
}

type Props = { name: string | null; run: string | null; tools: readonly KnownTool[] };

function StepsEditing({ name, run, tools }: Props) {
  const [kind] = useState(() => stepsKind(tools));
  const draftKey = `uncaged-steps-${name ?? ""}`;
  return (
    <Editing
      kind={kind}
      name={name}
      draftKey={draftKey}
      begin={() => ({
        text: readDraft(draftKey).text ?? kind.emptyText,
        base: null,
        notices: [],
      })}
    >
      {(editing) => <StepsEditor kind={kind} editing={editing} name={name} run={run} />}
    </Editing>
  );
}
