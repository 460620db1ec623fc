/**
 * A panel that can be used as long as the kernel lives, as an anywidget front-end module without a view: it draws in
 * the place of the panel's static HTML, so that a saved notebook holds nothing that needs a kernel to be read.
 */
import './panels.css';
import { render as draw, h } from 'preact';
import { Places } from './place';
import type { PanelModel } from './protocol';
import { PanelStore } from './store';
import { PanelView } from './view';

export default {
  initialize({ model }: { model: PanelModel }) {
    let places: Places | null = null;
    const leave = () => {
      places?.leave();
      places = null;
    };
    const store = new PanelStore(model, isLive => {
      if (!isLive) return leave();
      places ??= new Places(store.snapshot?.place ?? '', element => {
        draw(h(PanelView, { store }), element);
        return () => draw(null, element);
      });
    });
    store.open();
    return () => {
      leave();
      store.dispose();
    };
  },
};
