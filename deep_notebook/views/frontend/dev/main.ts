/** Draws the widget for states to look at: `?show=waiting,done&act=Edit&theme=dark`. */
import widget from '../src/index';
import { FakeModel } from './model';
import { all, done, waiting } from './states';

const params = new URLSearchParams(location.search);
const theme = params.get('theme');
if (theme) document.body.dataset.jpThemeLight = String(theme === 'light');
const names = params.get('show')?.split(',') ?? Object.keys(all);
const act = params.get('act');

for (const name of names) {
  const caption = document.createElement('p');
  caption.textContent = name;
  const el = document.createElement('div');
  document.body.append(caption, el);
  const model = new FakeModel(all[name] ?? waiting, name !== 'lost');
  const { initialize, render } = widget();
  initialize({ model });
  render({ model, el });
  if (name === 'lost') {
    model.broken = true;
    model.trigger('comm_live_update');
  }
  if (params.has('live')) {
    model.send = message => {
      model.sent.push(message);
      if (message.kind === 'decision') setTimeout(() => model.become(done), 800);
    };
  }
  for (const button of act ? el.querySelectorAll<HTMLElement>('button, summary') : []) {
    if (button.textContent?.includes(act as string)) button.click();
  }
}
