/**
 * The live view of a run, as an anywidget front-end module. The default export is called once per model, so that
 * all views of one run share one state.
 */
import './style.css';
import { render as draw, h } from 'preact';
import type { HostModel } from './protocol';
import { stayInSight } from './stay';
import { RunStore } from './store';
import { findTypesetter } from './typeset';
import { RunView } from './view/run';

export default () => {
  let store: RunStore | undefined;
  return {
    initialize({ model }: { model: HostModel }) {
      const mine = new RunStore(model);
      store = mine;
      return () => mine.dispose();
    },
    render({ model, el }: { model: HostModel; el: HTMLElement }) {
      store ??= new RunStore(model);
      draw(h(RunView, { store, typesetter: findTypesetter(model) }), el);
      const leave = stayInSight(el);
      return () => {
        leave();
        draw(null, el);
      };
    },
  };
};
