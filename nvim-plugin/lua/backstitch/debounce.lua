--- Work for a client that a burst of events causes: it runs once, a while after the last of them.
local server = require('backstitch.server')

local M = {}

--- Returns a function that schedules `work` for a client. The work is dropped if the client stops meanwhile.
---@param delay integer In milliseconds.
---@param work fun(client: vim.lsp.Client)
---@return fun(client: vim.lsp.Client)
function M.by_client(delay, work)
  ---@type table<integer, uv.uv_timer_t>
  local timers = {}
  server.on('gone', function(_, client)
    if timers[client.id] then
      timers[client.id]:close()
      timers[client.id] = nil
    end
  end)
  return function(client)
    timers[client.id] = timers[client.id] or assert(vim.uv.new_timer())
    timers[client.id]:start(
      delay,
      0,
      vim.schedule_wrap(function()
        if not client:is_stopped() then
          work(client)
        end
      end)
    )
  end
end

return M
