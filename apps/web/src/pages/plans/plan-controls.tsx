import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { PlanView } from "@uncaged/workflow-server/api-types";
import { Ellipsis, OctagonX, Pause, Play, RotateCcw, Trash2 } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import {
  changePlan,
  planKeys,
  planQuery,
  removePlan,
  retryPlan,
  runPlan,
} from "../../lib/plans.ts";
import { useKept } from "../../lib/kept.ts";
import { Button, useKeptFocus } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextArea } from "../../ui/field.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { FailureNotice } from "../../ui/states.tsx";

/** The actions on a plan in its phase. */
export function PlanControls({ plan }: { plan: PlanView }) {
  const { id, name, phase, runs } = plan;
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asking, ask] = useState<"run" | "cancel" | "delete" | null>(null);
  const buttons = useRef<HTMLDivElement>(null);
  useKeptFocus(buttons);
  const readAgain = () => client.invalidateQueries({ queryKey: planKeys.all });
  const act = useMutation({
    mutationFn: (perform: () => Promise<unknown>) => perform(),
    onSettled: readAgain,
  });
  const button = (label: string, icon: ReactNode, perform: () => Promise<unknown>) => (
    <Button
      look={label === "Pause" ? "plain" : "solid"}
      icon={icon}
      isBusy={act.isPending}
      onClick={() => act.mutate(perform)}
    >
      {label}
    </Button>
  );
  const goesOn = runs[0]?.status === "running";
  return (
    <div ref={buttons} className="flex flex-wrap gap-2">
      {(phase === "active" || phase === "completed") && (
        <Button look="solid" icon={<Play />} onClick={() => ask("run")}>
          Run…
        </Button>
      )}
      {(phase === "active" || phase === "executing") &&
        button("Pause", <Pause />, () => changePlan(id, "pause"))}
      {phase === "paused" && button("Resume", <Play />, () => changePlan(id, "resume"))}
      {phase === "failed" && button("Retry", <RotateCcw />, () => retryPlan(id))}
      {goesOn && (
        <Button look="danger" icon={<OctagonX />} onClick={() => ask("cancel")}>
          Cancel the run
        </Button>
      )}
      {phase !== "executing" && (
        <Menu trigger={<Button icon={<Ellipsis />} aria-label="More actions" />}>
          <MenuItem icon={<Trash2 />} danger onClick={() => ask("delete")}>
            Delete…
          </MenuItem>
        </Menu>
      )}
      {act.error && (
        <div className="basis-full">
          <FailureNotice error={act.error} />
        </div>
      )}
      <RunDialog id={id} isOpen={asking === "run"} onClose={() => ask(null)} onRun={readAgain} />
      <Confirm
        title="Cancel the run?"
        action="Cancel the run"
        isOpen={asking === "cancel"}
        onClose={() => ask(null)}
        perform={async () => {
          await changePlan(id, "cancel");
          await readAgain();
        }}
      >
        <p>It fails now, and its running steps are lost. Completed steps are kept.</p>
      </Confirm>
      <Confirm
        title={`Delete ${name}?`}
        action="Delete"
        isOpen={asking === "delete"}
        onClose={() => ask(null)}
        perform={async () => {
          await removePlan(id);
          await navigate({ to: "/plans" });
          client.removeQueries({ queryKey: planQuery(id).queryKey });
          await readAgain();
        }}
      >
        <p>The plan and the list of its runs are deleted. The threads of its runs stay.</p>
        {goesOn && <p>Its current run is cancelled.</p>}
      </Confirm>
    </div>
  );
}

type RunProps = { id: string; isOpen: boolean; onClose: () => void; onRun: () => Promise<void> };

function RunDialog({ id, isOpen, onClose, onRun }: RunProps) {
  const [data, setData] = useKept(`plan-data-${id}`, "");
  const run = async () => {
    await runPlan(id, data === "" ? undefined : data);
    setData("");
    await onRun();
  };
  return (
    <Confirm
      title="Run the plan now"
      action="Run"
      look="solid"
      isOpen={isOpen}
      onClose={onClose}
      perform={run}
    >
      <TextArea
        label="Trigger data (optional)"
        hint="Available to the steps as $trigger_data."
        rows={3}
        value={data}
        onChange={({ target }) => setData(target.value)}
      />
    </Confirm>
  );
}
