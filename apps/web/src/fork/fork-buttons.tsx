import { GitFork, RotateCcw } from "lucide-react";
import { Button } from "../controls/button.tsx";
import { DialogButtons } from "../controls/dialog.tsx";
import type { ForkPoint } from "./fork.ts";

type Props = { point: ForkPoint; isBusy: boolean; isDisabled: boolean; onClose: () => void };

/** What ends the dialog: without a new thread, or with one. */
export function ForkButtons({ point, isBusy, isDisabled, onClose }: Props) {
  const isFork = point.kind === "fork";
  return (
    <DialogButtons>
      <Button onClick={onClose}>Cancel</Button>
      <Button
        look="solid"
        type="submit"
        icon={isFork ? <GitFork /> : <RotateCcw />}
        isBusy={isBusy}
        disabled={isDisabled}
      >
        {isFork ? "Fork" : "Rerun"}
      </Button>
    </DialogButtons>
  );
}
