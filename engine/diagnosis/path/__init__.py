"""What one pod waited for from its creation until it ran: steps without gap or overlap."""
